#include "os/trash.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <future>

#include "base/error.hpp"
#include "os/file.hpp"
#include "temporary.hpp"

namespace underway::os {
namespace {

using std::chrono::hours;
using testing::IsEmpty;
using testing::SizeIs;

class TrashTest : public testing::Test {
 protected:
  std::string make(const std::string& name, const std::string& text) const {
    const std::string path = directory_.path() + "/" + name;
    make_directories(path);
    write_file(path + "/data", text, 0600);
    return path;
  }
  std::vector<std::string> whats() const {
    std::vector<std::string> all;
    for (const auto& item : trash_.list()) all.push_back(item.what);
    return all;
  }

  static constexpr Trash::Limits kFull = {.keep = hours(1), .free_percent = 101, .free_bytes = UINT64_MAX};

  Temporary directory_;
  // Of a full disk too: how much is free is not what these are about.
  Trash trash_{directory_.path() + "/trash", {.keep = hours(7 * 24), .free_percent = 0}};
  TimePoint now_{*parse_time("2026-11-23T15:42:07Z")};
};

TEST_F(TrashTest, KeepsWhatIsTakenAwayForItsOwnerAlone) {
  const auto host = make("infra1", "accounting");
  trash_.put(host, "host-demo-infra1", now_);
  EXPECT_FALSE(exists(host));
  const auto all = trash_.list();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].name, "20261123T154207Z-host-demo-infra1");
  EXPECT_EQ(all[0].at, now_);
  EXPECT_EQ(read_file(trash_.find(all[0].name) + "/data"), "accounting");
  struct stat found = {};
  ASSERT_EQ(::stat(trash_.directory().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700U);
}

TEST_F(TrashTest, RemovesAfterAWeekAndNotBefore) {
  trash_.put(make("a", "1"), "a", now_);
  trash_.put(make("b", "2"), "b", now_ + hours(24));
  trash_.collect(now_ + hours(7 * 24));
  EXPECT_THAT(whats(), testing::ElementsAre("b", "a"));
  trash_.collect(now_ + hours(7 * 24 + 1));
  EXPECT_THAT(whats(), testing::ElementsAre("b"));
  trash_.collect(now_ + hours(9 * 24));
  EXPECT_THAT(whats(), IsEmpty());
}

TEST_F(TrashTest, KeepsTheNewestFewOfTheSame) {
  for (int hour = 0; hour < 5; ++hour)
    trash_.put(make("host", std::to_string(hour)), "host-demo-c1", now_ + hours(hour));
  const auto all = trash_.list();
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(read_file(trash_.find(all[0].name) + "/data"), "4");
  EXPECT_EQ(read_file(trash_.find(all[2].name) + "/data"), "2");
}

TEST_F(TrashTest, KeepsBothOfTwoInOneSecond) {
  trash_.put(make("host", "1"), "host", now_);
  trash_.put(make("host", "2"), "host", now_);
  const auto all = trash_.list();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(read_file(trash_.find(all[0].name) + "/data"), "2");
  EXPECT_EQ(read_file(trash_.find(all[1].name) + "/data"), "1");
}

TEST_F(TrashTest, ADiskWithoutRoomKeepsNothing) {
  const Trash full(directory_.path() + "/trash", kFull);
  full.put(make("host", "x"), "host", now_);
  EXPECT_THAT(full.list(), IsEmpty());
}

TEST_F(TrashTest, ALargeDiskHasRoomThoughLessThanATenthIsFree) {
  const Trash large(directory_.path() + "/trash", {.free_percent = 101, .free_bytes = 1});
  large.put(make("host", "x"), "host", now_);
  EXPECT_THAT(large.list(), SizeIs(1));
}

TEST_F(TrashTest, TwoThatCollectAtOnceDoNotMissWhatTheOtherHasTaken) {
  for (int item = 0; item < 100; ++item) trash_.put(make("host", "x"), "host-" + std::to_string(item), now_);
  const Trash full(directory_.path() + "/trash", kFull);
  const auto collect = [&] { full.collect(now_); };
  auto one = std::async(std::launch::async, collect);
  auto other = std::async(std::launch::async, collect);
  EXPECT_NO_THROW(one.get());
  EXPECT_NO_THROW(other.get());
  EXPECT_THAT(full.list(), IsEmpty());
}

TEST_F(TrashTest, WhatSomebodyElseLeftThereIsLeftAlone) {
  make_directories(trash_.directory() + "/notes");
  trash_.put(directory_.path() + "/nothing", "nothing", now_);
  trash_.collect(now_ + hours(1000));
  EXPECT_THAT(trash_.list(), IsEmpty());
  EXPECT_TRUE(exists(trash_.directory() + "/notes"));
  EXPECT_THROW(trash_.find("notes"), Error);
  EXPECT_THROW(trash_.find("../a"), Error);
}

}  // namespace
}  // namespace underway::os
