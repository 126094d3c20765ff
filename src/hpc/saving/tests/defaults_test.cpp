#include "saving/defaults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "saving/schedule.hpp"

namespace underway::saving {
namespace {

using overlay::Method;
using std::chrono::hours;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

capsule::Saving saving_of(const std::string& config) {
  capsule::Saving saving;
  saving.job.groups.emplace_back().tasks.emplace_back().config = boost::json::parse(config);
  return saving;
}

TEST(Defaults, ACapsuleThatSaysNothingHasSnapshotsAsOftenAsTheyAreCheap) {
  const auto saving = saving_of(R"({"image": "web:1"})");
  for (const auto method : {Method::subvolume, Method::clone}) {
    const auto plan = snapshots_of(saving, method);
    EXPECT_TRUE(plan.by_default);
    EXPECT_EQ(plan.schedule.every, hours(1));
    ASSERT_TRUE(plan.schedule.keep);
    EXPECT_EQ(plan.schedule.keep->hourly, 24);
    EXPECT_EQ(plan.schedule.keep->daily, 7);
  }
  const auto copies = snapshots_of(saving, Method::copy);
  EXPECT_EQ(copies.schedule.every, hours(24)) << "each is all of it";
  EXPECT_EQ(copies.schedule.keep->last, 2);
}

TEST(Defaults, WhatTheJobSaysHolds) {
  auto off = saving_of(R"({"image": "web:1"})");
  off.snapshot.emplace();
  EXPECT_EQ(snapshots_of(off, Method::subvolume).schedule.every, Duration{0});
  EXPECT_FALSE(snapshots_of(off, Method::subvolume).by_default);
  off.snapshot->every = hours(3);
  EXPECT_EQ(snapshots_of(off, Method::copy).schedule.every, hours(3));
  const auto nothing = saving_of(R"({"image": "web:1", "protect": {"keeps_nothing": true}})");
  EXPECT_EQ(snapshots_of(nothing, Method::subvolume).schedule.every, Duration{0});
}

TEST(Defaults, ATenthOfTheDiskStaysFree) {
  EXPECT_EQ(no_room(Method::subvolume, {100 * kGiB, 10 * kGiB}, 0), "");
  EXPECT_THAT(no_room(Method::subvolume, {100 * kGiB, 9 * kGiB}, 0), testing::HasSubstr("has 9.0 GiB free"));
  EXPECT_EQ(no_room(Method::copy, {100 * kGiB, 20 * kGiB}, 10 * kGiB), "");
  EXPECT_THAT(no_room(Method::copy, {100 * kGiB, 20 * kGiB}, 11 * kGiB), testing::HasSubstr("a copy takes 11.0 GiB"));
  EXPECT_NE(no_room(Method::clone, {}, 0), "") << "a disk that cannot be looked at has none";
}

TEST(Defaults, ACapsuleWithoutABlockIsSavedAnIntervalAfterItsFirstStart) {
  std::string capsules = (std::filesystem::temp_directory_path() / "underway-saving-XXXXXX").string();
  ASSERT_NE(::mkdtemp(capsules.data()), nullptr);
  const CapsuleName web{"default", "web"};
  std::filesystem::create_directories(capsule::capsule_directory(capsules, web.ns, web.name));
  const TimePoint now = from_unix_nanos(1'790'000'000'000'000'000);
  auto saving = saving_of(R"({"image": "web:1"})");
  capsule::write_saving(capsules, web.ns, web.name, saving);
  const auto saved = find_saved(capsules, web, now);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->snapshot.every, hours(24)) << "of an overlay that is not there yet the worst is thought";
  EXPECT_EQ(due(*saved, now + hours(23)), std::nullopt);
  EXPECT_EQ(due(*saved, now + hours(27)), Work::snapshot);
  EXPECT_EQ(find_saved(capsules, web, now + hours(5))->since, saved->since);
  saving.snapshot.emplace();
  capsule::write_saving(capsules, web.ns, web.name, saving);
  EXPECT_EQ(due(*find_saved(capsules, web, now), now + hours(999)), std::nullopt) << "every = \"0s\"";
  std::filesystem::remove_all(capsules);
}

}  // namespace
}  // namespace underway::saving
