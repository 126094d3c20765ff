#include "saving/defaults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "os/file.hpp"
#include "overlay/snapshot/method.hpp"
#include "saving/schedule.hpp"

namespace underway::saving {
namespace {

using model::SnapshotMethod;
using std::chrono::hours;

namespace fs = std::filesystem;

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

run::Saving saving_of(const std::string& config) {
  run::Saving saving;
  saving.job.groups.emplace_back().tasks.emplace_back().config = boost::json::parse(config);
  return saving;
}

/// A directory that goes with the test.
class Place {
 public:
  Place() : path_((fs::temp_directory_path() / "underway-saving-XXXXXX").string()) {
    if (::mkdtemp(path_.data()) == nullptr) throw errno_error(errno, "no directory for the test");
  }
  Place(const Place&) = delete;
  ~Place() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST(Defaults, ACapsuleThatSaysNothingHasSnapshotsAsOftenAsTheyAreCheap) {
  const auto saving = saving_of(R"({"image": "web:1"})");
  for (const auto method : {SnapshotMethod::subvolume, SnapshotMethod::clone}) {
    const auto plan = snapshots_of(saving, method);
    EXPECT_TRUE(plan.by_default);
    EXPECT_EQ(plan.schedule.every, hours(1));
    ASSERT_TRUE(plan.schedule.keep);
    EXPECT_EQ(plan.schedule.keep->hourly, 24);
    EXPECT_EQ(plan.schedule.keep->daily, 7);
  }
  const auto copies = snapshots_of(saving, SnapshotMethod::copy);
  EXPECT_EQ(copies.schedule.every, hours(24)) << "each is all of it";
  EXPECT_EQ(copies.schedule.keep->last, 2);
}

TEST(Defaults, WhatTheJobSaysHolds) {
  auto off = saving_of(R"({"image": "web:1"})");
  off.snapshot.emplace();
  EXPECT_EQ(snapshots_of(off, SnapshotMethod::subvolume).schedule.every, Duration{0});
  EXPECT_FALSE(snapshots_of(off, SnapshotMethod::subvolume).by_default);
  off.snapshot->every = hours(3);
  EXPECT_EQ(snapshots_of(off, SnapshotMethod::copy).schedule.every, hours(3));
  const auto nothing = saving_of(R"({"image": "web:1", "protect": {"keeps_nothing": true}})");
  EXPECT_EQ(snapshots_of(nothing, SnapshotMethod::subvolume).schedule.every, Duration{0});
}

TEST(Defaults, ATenthOfTheDiskStaysFree) {
  EXPECT_EQ(no_room(SnapshotMethod::subvolume, {100 * kGiB, 10 * kGiB}, 0), "");
  EXPECT_THAT(no_room(SnapshotMethod::subvolume, {100 * kGiB, 9 * kGiB}, 0), testing::HasSubstr("has 9.0 GiB free"));
  EXPECT_EQ(no_room(SnapshotMethod::copy, {100 * kGiB, 20 * kGiB}, 10 * kGiB), "");
  EXPECT_THAT(no_room(SnapshotMethod::copy, {100 * kGiB, 20 * kGiB}, 11 * kGiB),
              testing::HasSubstr("a copy takes 11.0 GiB"));
  EXPECT_NE(no_room(SnapshotMethod::clone, {}, 0), "") << "a disk that cannot be looked at has none";
}

TEST(Defaults, ACopyTakesWhatTheDiskGaveForIt) {
  const Place place;
  os::make_directories(place / "a");
  os::write_file(place / "a/lastlog", "somebody was here");
  ASSERT_EQ(::truncate((place / "a/lastlog").c_str(), static_cast<off_t>(500 * kGiB)), 0);
  EXPECT_LT(overlay::disk_bytes(place.path()), kGiB) << "a hole takes nothing";
  os::write_file(place / "zlast", std::string(1U << 20, 'x'));
  EXPECT_GE(overlay::disk_bytes(place.path()), 1U << 20);
}

TEST(Defaults, WhatVanishesWhileItIsLookedAtHidesNothing) {
  const Place place;
  os::write_file(place / "zlast", std::string(1U << 20, 'x'));
  std::atomic<bool> over = false;
  std::thread service([&] {
    while (!over) {
      for (int n = 0; n < 20; ++n) fs::create_directories(place / fmt::format("spool.{}/a/b", n));
      for (int n = 0; n < 20; ++n) fs::remove_all(place / fmt::format("spool.{}", n));
    }
  });
  for (int n = 0; n < 200; ++n) EXPECT_GE(overlay::disk_bytes(place.path()), 1U << 20);
  over = true;
  service.join();
}

TEST(Defaults, HowSnapshotsAreTakenIsFoundOutBySeveralAtOnceAndLeavesNothing) {
  const Place place;
  os::write_file(place / "overlay.img", std::string(8192, 'x'));
  os::write_file(place / "overlay.json", fmt::format(R"({{"Version": 1, "Kind": "ext4", "SizeBytes": 8192, "Paths": [],
      "Files": ["{}"], "Complete": true}})",
                                                     place / "overlay.img"));
  const auto expect = overlay::find_method(place.path());
  ASSERT_TRUE(expect);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int n = 0; n < 4; ++n) {
    callers.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        try {
          if (overlay::find_method(place.path()) != expect) ++wrong;
        } catch (const Error&) {
          ++wrong;
        }
      }
    });
  }
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(os::list_directory(place.path()).size(), 2U);
}

TEST(Defaults, WhereNothingCanBeTriedFilesAreNotCloned) {
  const Place place;
  os::write_file(place / "overlay.json", R"({"Version": 1, "Kind": "xfs", "SizeBytes": 8192, "Paths": [],
      "Files": ["/proc/self/nothing/overlay.img"], "Complete": true})");
  EXPECT_EQ(overlay::find_method(place.path()), SnapshotMethod::copy);
}

TEST(Defaults, ACapsuleWithoutABlockIsSavedAnIntervalAfterItsFirstStart) {
  const Place place;
  const auto& capsules = place.path();
  const CapsuleName web{"default", "web"};
  std::filesystem::create_directories(run::capsule_directory(capsules, web.ns, web.name));
  const TimePoint now = from_unix_nanos(1'790'000'000'000'000'000);
  auto saving = saving_of(R"({"image": "web:1"})");
  run::write_saving(capsules, web.ns, web.name, saving);
  const auto saved = find_saved(capsules, web, now);
  ASSERT_TRUE(saved);
  EXPECT_EQ(saved->snapshot.every, hours(24)) << "of an overlay that is not there yet the worst is thought";
  EXPECT_EQ(due(*saved, now + hours(23)), std::nullopt);
  EXPECT_EQ(due(*saved, now + hours(27)), Work::snapshot);
  EXPECT_EQ(find_saved(capsules, web, now + hours(5))->since, saved->since);
  saving.snapshot.emplace();
  run::write_saving(capsules, web.ns, web.name, saving);
  EXPECT_EQ(due(*find_saved(capsules, web, now), now + hours(999)), std::nullopt) << "every = \"0s\"";
}

}  // namespace
}  // namespace underway::saving
