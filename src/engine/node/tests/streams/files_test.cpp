#include <fcntl.h>

#include "base/json/json.hpp"
#include "node/allocation/state_file.hpp"
#include "node/artifact/artifact.hpp"
#include "node/streams/file_access.hpp"
#include "node/streams/log_reader.hpp"
#include "tests/fixture.hpp"

namespace underway::node {
namespace {

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(StateFiles, AfterABootAGuardedOrderStartsNothing) {
  StoredOrder stored;
  stored.boot = "then";
  EXPECT_TRUE(as_found(stored, "now").order.start) << "others are begun again without a server";
  stored.order.guarded = true;
  EXPECT_TRUE(as_found(stored, "then").order.start) << "the agent alone was restarted";
  EXPECT_FALSE(as_found(stored, "now").order.start);
  EXPECT_EQ(boot_mark(), boot_mark());
  EXPECT_GT(boot_mark().size(), 30u);
}

class FileAccessTest : public ::testing::Test {
 protected:
  FileAccessTest() {
    for (const char* name : {"/alloc/logs", "/main/local", "/main/secrets", "/main/private"})
      os::make_directories(directory.path() + "/id" + name);
    put(directory.path() + "/outside", "no");
    put(root + "/main/local/a.json", "{}");
    put(root + "/main/secrets/key", "secret");
  }
  TemporaryDirectory directory;
  std::string root = directory.path() + "/id";
};

TEST_F(FileAccessTest, ListsAndDescribes) {
  const FileAccess files(root);
  const auto top = files.list("/");
  ASSERT_EQ(top.size(), 2u);
  EXPECT_EQ(top[0].name, "alloc");
  EXPECT_TRUE(top[0].is_dir);
  const protocol::FileInfo info = files.stat("main/local/a.json");
  EXPECT_EQ(info.size, 2);
  EXPECT_EQ(info.content_type, "application/json");
  EXPECT_EQ(info.file_mode.substr(0, 4), "-rw-");
  EXPECT_EQ(os::read_all(files.open("/main/local/a.json"), 100, "x"), "{}");
}

TEST_F(FileAccessTest, NothingLeadsOutside) {
  ASSERT_EQ(::symlink((directory.path() + "/outside").c_str(), (root + "/main/local/absolute").c_str()), 0);
  ASSERT_EQ(::symlink("../../../outside", (root + "/main/local/relative").c_str()), 0);
  ASSERT_EQ(::symlink("../secrets/key", (root + "/main/local/inside").c_str()), 0);
  ASSERT_EQ(::symlink("/proc/self/root", (root + "/main/local/magic").c_str()), 0);
  const FileAccess files(root);
  for (const char* path : {"../outside", "/../outside", "main/../../outside", "main/local/absolute",
                           "main/local/relative", "main/local/magic/etc/passwd", "main/secrets/key", "main/private",
                           "main/local/inside", "main/./secrets/key", "alloc/../main/secrets/key"}) {
    SCOPED_TRACE(path);
    try {
      files.open(path);
      ADD_FAILURE() << "opened";
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == Code::denied) << error.one_line();
    }
  }
}

TEST_F(FileAccessTest, AFifoDoesNotBlock) {
  ASSERT_EQ(::mkfifo((root + "/main/local/fifo").c_str(), 0600), 0);
  EXPECT_THROW(FileAccess(root).open("main/local/fifo"), Error);
}

TEST(Normalise, KnowsWhereItIs) {
  EXPECT_EQ(normalise("/a//b/./c/../d"), "a/b/d");
  EXPECT_EQ(normalise(""), "");
  EXPECT_EQ(normalise("a/../.."), std::nullopt);
}

class LogTest : public ::testing::Test {
 protected:
  std::string read_everything(LogReader& reader, std::size_t piece = 3) {
    std::string all;
    while (true) {
      const std::string bytes = reader.read(piece);
      if (bytes.empty()) return all;
      all += bytes;
    }
  }
  LogReader open(const std::string& origin = "start", std::int64_t offset = 0) {
    return LogReader(directory.path(), "web", "stdout", origin, offset);
  }
  TemporaryDirectory directory;
  std::string path = directory.path() + "/web.stdout.";
};

TEST_F(LogTest, RotatedFilesAreOneStream) {
  put(path + "9", "one ");
  put(path + "10", "two ");
  put(path + "11", "three");
  put(directory.path() + "/web.stderr.0", "no");
  put(directory.path() + "/web.stdout.x", "no");
  auto reader = open();
  EXPECT_EQ(read_everything(reader), "one two three");
  auto middle = open("start", 6);
  EXPECT_EQ(read_everything(middle), "o three");
  auto tail = open("end", 7);
  EXPECT_EQ(read_everything(tail), "o three");
  auto beyond = open("start", 999);
  EXPECT_EQ(read_everything(beyond), "");
}

TEST_F(LogTest, WhatComesLaterIsReadWithoutGapOrRepetition) {
  auto reader = open();
  EXPECT_EQ(reader.read(100), "");
  put(path + "0", "a");
  EXPECT_EQ(reader.read(100), "a");
  EXPECT_EQ(reader.read(100), "");
  std::ofstream(path + "0", std::ios::app) << "b";
  put(path + "1", "c");
  EXPECT_EQ(read_everything(reader), "bc");
  put(path + "3", "e");  // 2 was rotated away meanwhile
  EXPECT_EQ(read_everything(reader), "e");
}

TEST_F(LogTest, IsThereOnceItHasAFile) {
  EXPECT_FALSE(LogReader::any(directory.path(), "web", "stdout"));
  put(path + "x", "no");
  EXPECT_FALSE(LogReader::any(directory.path(), "web", "stdout"));
  put(path + "0", "");
  EXPECT_TRUE(LogReader::any(directory.path(), "web", "stdout"));
  EXPECT_FALSE(LogReader::any(directory.path(), "web", "stderr"));
  EXPECT_FALSE(LogReader::any(directory.path() + "/gone", "web", "stdout"));
}

TEST_F(LogTest, UnknownStreamsAreRefused) {
  EXPECT_THROW(LogReader(directory.path(), "web", "stdin", "start", 0), Error);
  EXPECT_THROW(LogReader(directory.path(), "web", "stdout", "middle", 0), Error);
}

TEST(StateFiles, BringBackWhatWasWritten) {
  TemporaryDirectory data;
  StateFiles files(data.path());
  auto order = make_order({make_task("main")});
  order.order.start = false;
  order.order.waiting_for = "munge";
  files.write_order(kAllocationId, order);
  AllocationState state;
  state.tasks["main"].attempt = 4;
  state.tasks["main"].launched = true;
  state.tasks["main"].handle = boost::json::object{{"pid", 7}};
  state.tasks["main"].state.restarts = 2;
  state.health.healthy = true;
  files.write_state(kAllocationId, state);
  os::make_directories(data.path() + "/node/allocations/half-made");

  std::vector<std::string> problems;
  const auto all = files.read_all(problems);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(problems.empty());
  EXPECT_EQ(all[0].order.order.waiting_for, "munge");
  EXPECT_FALSE(all[0].order.order.start);
  EXPECT_EQ(all[0].order.order.allocation.job->id, "web");
  EXPECT_EQ(all[0].state.tasks.at("main").attempt, 4);
  EXPECT_EQ(all[0].state.tasks.at("main").handle.at("pid"), 7);
  EXPECT_EQ(all[0].state.health.healthy, true);

  put(data.path() + "/node/allocations/" + kAllocationId + "/order.json", "{");
  EXPECT_TRUE(files.read_all(problems).empty());
  EXPECT_EQ(problems.size(), 1u);
  files.remove(kAllocationId);
  EXPECT_FALSE(os::exists(data.path() + "/node/allocations/" + kAllocationId));
}

TEST(Artifact, RequestsAreInterpolatedAndOptionsFound) {
  const auto task = make_task("main");
  model::Node node;
  Interpolation interpolation(node, "global");
  interpolation.set_environment({{"V", "2"}});
  const TemplateInputs inputs{.task = task,
                              .interpolation = interpolation,
                              .allocation_root = "/d/alloc/id",
                              .view = {"/d/alloc/id/alloc", "/d/alloc/id/main/local", "/d/alloc/id/main/secrets"},
                              .owner = {7, 8}};
  model::Artifact artifact;
  artifact.source = "https://h/x-${V}.tgz?checksum=sha256:ab&k=v&archive=false";
  artifact.headers["Authorization"] = "Bearer ${V}";
  const FetchRequest request = fetch_request(artifact, inputs);
  EXPECT_EQ(request.source, "https://h/x-2.tgz?k=v");
  EXPECT_EQ(request.checksum, "sha256:ab");
  EXPECT_EQ(request.archive, "false");
  EXPECT_EQ(request.headers.at("Authorization"), "Bearer 2");
  EXPECT_EQ(request.destination, "main/local");
  EXPECT_EQ(request.uid, 7);
  for (const char* source : {"git::https://h/r.git", "s3://b/k", "relative/path", "ftp://h/x"}) {
    SCOPED_TRACE(source);
    artifact.source = source;
    EXPECT_THROW(fetch_request(artifact, inputs), Error);
  }
}

TEST(ArchiveKind, IsByTheEnding) {
  EXPECT_EQ(archive_kind("a.tar.gz"), "tar.gz");
  EXPECT_EQ(archive_kind("a.tgz"), "tar.gz");
  EXPECT_EQ(archive_kind("a.log.zst"), "zst");
  EXPECT_EQ(archive_kind("a.conf"), "");
}

TEST(Messages, HaveTheAgreedNames) {
  protocol::AllocationsMessage message;
  message.full = true;
  message.set.emplace_back();
  message.set[0].allocation.id = kAllocationId;
  message.set[0].start = false;
  message.remove = {"x"};
  const auto json = json::to_value(message);
  EXPECT_EQ(json.at("Full"), true);
  EXPECT_EQ(json.at("Set").at(0).at("Start"), false);
  EXPECT_EQ(json.at("Set").at(0).at("Allocation").at("ID"), kAllocationId);
  EXPECT_EQ(json.at("Remove").at(0), "x");
  model::Job job;
  job.id = "web";
  job.version = 3;
  EXPECT_EQ(protocol::job_key(job), "default/web@3");
}

}  // namespace
}  // namespace underway::node
