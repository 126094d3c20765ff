#include "server/access/audit.hpp"

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>

#include <filesystem>
#include <fstream>

namespace underway::server {
namespace {

AuditRecord record(const std::string& who, TimePoint time = from_unix_nanos(1'700'000'000'000'000'000)) {
  AuditRecord out;
  out.time = time;
  out.request_id = "req-1";
  out.accessor = "accessor-of-" + who;
  out.name = who;
  out.address = "192.0.2.7:4000";
  out.method = "PUT";
  out.route = "register job";
  out.target = "/v1/jobs";
  out.subject = "job default/web";
  out.before = 3;
  out.after = 7;
  out.changes = {"Priority: 50 -> 60"};
  out.status = 200;
  return out;
}

class AuditTest : public ::testing::Test {
 protected:
  AuditTest() {
    std::string pattern = "/tmp/underway-audit-XXXXXX";
    directory_ = ::mkdtemp(pattern.data());
    options_.path = directory_ + "/audit.log";
  }
  ~AuditTest() override {
    if (log_) loop_.run_until_done(log_->stop());
    log_.reset();
    if (mounted_) ::umount(directory_.c_str());
    std::filesystem::remove_all(directory_);
  }
  AuditLog& log() {
    if (!log_) log_.emplace(loop_.executor(), pool_, clock_, options_);
    return *log_;
  }
  void write(const AuditRecord& what) { loop_.run_until_done(log().write(log().reserve(), what)); }
  std::vector<std::string> read(const AuditQuery& query = {}) { return loop_.run_until_done(log().read(query)); }
  static std::string name_in(const std::string& line) {
    return std::string(boost::json::parse(line).at("Name").as_string());
  }
  std::vector<std::string> names(const AuditQuery& query = {}) {
    std::vector<std::string> out;
    for (const auto& line : read(query)) out.push_back(name_in(line));
    return out;
  }

  async::Loop loop_;
  async::Pool pool_{2};
  SystemClock clock_;
  std::string directory_;
  AuditOptions options_;
  std::optional<AuditLog> log_;
  bool mounted_ = false;
};

TEST_F(AuditTest, ALineTellsWhoWhatAndFromWhere) {
  write(record("anna"));
  const auto lines = read();
  ASSERT_EQ(lines.size(), 1u);
  const auto line = boost::json::parse(lines[0]);
  EXPECT_EQ(line.at("Accessor").as_string(), "accessor-of-anna");
  EXPECT_EQ(line.at("Address").as_string(), "192.0.2.7:4000");
  EXPECT_EQ(line.at("Subject").as_string(), "job default/web");
  EXPECT_EQ(line.at("Before").as_int64(), 3);
  EXPECT_EQ(line.at("After").as_int64(), 7);
  EXPECT_EQ(line.at("Changes").at(0).as_string(), "Priority: 50 -> 60");
  EXPECT_EQ(line.at("Status").as_int64(), 200);
}

TEST_F(AuditTest, ItsFileIsForItsOwnerAlone) {
  std::ofstream(options_.path) << "";
  ::chmod(options_.path.c_str(), 0644);
  write(record("anna"));
  struct stat status{};
  ASSERT_EQ(::stat(options_.path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(AuditTest, GoesOnWhereTheLastServerEnded) {
  write(record("anna"));
  log_.reset();
  write(record("berta"));
  EXPECT_EQ(names(), (std::vector<std::string>{"anna", "berta"}));
}

TEST_F(AuditTest, IsReadBySinceByWhoAndByTheNewest) {
  const auto noon = from_unix_nanos(1'700'000'000'000'000'000);
  write(record("anna", noon));
  write(record("berta", noon + std::chrono::minutes(1)));
  write(record("anna", noon + std::chrono::minutes(2)));
  EXPECT_EQ(names({noon + std::chrono::minutes(1), "", 10}), (std::vector<std::string>{"berta", "anna"}));
  EXPECT_EQ(names({{}, "anna", 10}).size(), 2u);
  EXPECT_EQ(names({{}, "accessor-of-b", 10}), std::vector<std::string>{"berta"});
  EXPECT_EQ(names({{}, "", 2}), (std::vector<std::string>{"berta", "anna"}));
}

TEST_F(AuditTest, BeginsAnewFileWhenOneIsFullAndKeepsSoMany) {
  options_.rotate_bytes = 600;
  options_.keep = 2;
  for (int i = 0; i < 8; ++i) write(record(fmt::format("n{}", i)));
  EXPECT_TRUE(std::filesystem::exists(options_.path + ".1"));
  EXPECT_TRUE(std::filesystem::exists(options_.path + ".2"));
  EXPECT_FALSE(std::filesystem::exists(options_.path + ".3"));
  const auto all = names();
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all.back(), "n7");
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end())) << "in the order in which they were written, over all files";
}

TEST_F(AuditTest, ALineIsBoundedAndIsJsonWhateverItTells) {
  auto long_one = record("anna");
  long_one.target = std::string(100'000, '\x01');
  long_one.error = "bad \xff bytes";
  long_one.changes.assign(500, std::string(5000, '"'));
  const std::string line = long_one.line();
  EXPECT_LT(line.size(), kMaxRecordBytes);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(boost::json::parse(line).is_object());
}

TEST_F(AuditTest, ATornLineSpoilsItselfAlone) {
  write(record("anna"));
  log_.reset();
  std::ofstream(options_.path, std::ios::app) << "{\"Time\":\"20\n";
  write(record("berta"));
  EXPECT_EQ(names(), (std::vector<std::string>{"anna", "berta"}));
}

TEST_F(AuditTest, FollowersHearOfWhatIsOnTheDisk) {
  write(record("anna"));
  const auto seen = log().written();
  write(record("berta"));
  write(record("carla"));
  const auto news = log().recent(seen);
  ASSERT_EQ(news.size(), 2u);
  EXPECT_EQ(name_in(news[0]), "berta");
  EXPECT_TRUE(log().recent(log().written()).empty());
}

/// On a file system of one MiB, in this test's mount table alone where that is possible.
class FullDiskTest : public AuditTest {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to mount a small file system";
    if (::mount("tmpfs", directory_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "cannot mount a tmpfs";
    mounted_ = true;
  }
  void fill() {
    std::ofstream filler(directory_ + "/filler", std::ios::binary);
    const std::string block(64 * 1024, 'x');
    while (filler.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
    }
  }
};

TEST_F(FullDiskTest, RefusesTheChangeAndSaysWhatToDo) {
  fill();
  try {
    log().reserve();
    FAIL() << "there is no room for a line";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
    EXPECT_NE(error.text().find(options_.path), std::string::npos) << error.text();
    EXPECT_FALSE(error.advice().empty());
  }
  ASSERT_TRUE(log().trouble());
  const auto since = log().trouble()->since;
  EXPECT_THROW(log().reserve(), Error);
  EXPECT_EQ(log().trouble()->since, since);
  std::filesystem::remove(directory_ + "/filler");
  EXPECT_FALSE(log().trouble()) << "found out by looking";
  write(record("anna"));
  EXPECT_EQ(names(), std::vector<std::string>{"anna"});
}

TEST_F(FullDiskTest, LetsTheChangeThroughWhenItIsToldTo) {
  options_.refuse_unlogged = false;
  fill();
  EXPECT_NO_THROW(log().reserve());
}

TEST_F(FullDiskTest, WhatWasLetInHasItsRoomWhenTheDiskFillsMeanwhile) {
  auto place = log().reserve();
  fill();
  loop_.run_until_done(log().write(std::move(place), record("anna")));
  EXPECT_EQ(names(), std::vector<std::string>{"anna"});
}

}  // namespace
}  // namespace underway::server
