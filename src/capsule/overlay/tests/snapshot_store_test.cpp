#include "overlay/snapshot_store.hpp"

#include "base/error.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

using std::chrono::hours;

constexpr TimePoint kSnapshotStoreNoon{std::chrono::seconds{1'764'072'000}};

class SnapshotStores : public testing::Test {
 protected:
  SnapshotStores() {
    open_overlay({.kind = Kind::directory}, places_ / "c/overlay");
    options_ = {.capsule = "default/c", .image = "sha256:new"};
  }
  SnapshotStore snapshot_store() const { return {places_ / "c", options_, clock_}; }
  std::string upper() const { return places_ / "c/overlay/upper"; }
  void write(const std::string& text) const { os::write_file(upper() + "/state", text); }
  std::string state() const { return os::read_file(upper() + "/state"); }
  Places places_;
  /// A minute goes by between any two looks.
  struct Minutes final : Clock {
    TimePoint now() const override { return last += std::chrono::minutes{1}; }
    mutable TimePoint last = kSnapshotStoreNoon;
  } clock_;
  SnapshotStoreOptions options_;
};

TEST_F(SnapshotStores, RestoreAndKeepAWayBack) {
  write("one");
  const auto snapshot = snapshot_store().take("by hand");
  write("two");
  const auto before = snapshot_store().restore(snapshot.id);
  EXPECT_EQ(state(), "one");
  EXPECT_EQ(before.reason, "before restore");
  snapshot_store().restore(before.id);
  EXPECT_EQ(state(), "two");
  EXPECT_THROW(snapshot_store().restore("none"), Error);
  EXPECT_EQ(snapshot_store().list().size(), 3U) << "a snapshot that is not there costs no other";
}

TEST_F(SnapshotStores, RollBackToTheLastStateOfAnotherImage) {
  EXPECT_THROW(snapshot_store().roll_back(), Error);
  options_.image = "sha256:old";
  write("before the upgrade");
  snapshot_store().take("before upgrade");
  options_.image = "sha256:new";
  write("migrated");
  snapshot_store().take("schedule");
  const auto done = snapshot_store().roll_back();
  EXPECT_EQ(state(), "before the upgrade");
  EXPECT_EQ(done.target.image, "sha256:old");
  EXPECT_EQ(done.before.image, "sha256:new");
}

TEST_F(SnapshotStores, TouchNothingThatRuns) {
  write("one");
  const auto snapshot = snapshot_store().take("by hand");
  write("two");
  options_.running = true;
  EXPECT_THROW(snapshot_store().restore(snapshot.id), Error);
  EXPECT_THROW(snapshot_store().roll_back(), Error);
  EXPECT_EQ(state(), "two");
}

TEST_F(SnapshotStores, KeepOnlyWhatIsWanted) {
  write("one");
  for (int i = 0; i < 5; ++i) snapshot_store().take("schedule", {.last = 2});
  EXPECT_EQ(snapshot_store().list().size(), 2U);
}

TEST_F(SnapshotStores, KeepTheLastOfAReasonAndAllOthers) {
  write("one");
  snapshot_store().take("by hand");
  for (int i = 0; i < 5; ++i) snapshot_store().take("before move");
  const auto newest = snapshot_store().list().back().id;
  snapshot_store().keep_last("before move", 3);
  const auto list = snapshot_store().list();
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list.front().reason, "by hand");
  EXPECT_EQ(list.back().id, newest);
}

TEST_F(SnapshotStores, TryWhatIsSaved) {
  EXPECT_THROW(snapshot_store().drill([](const std::string&) { return std::vector<std::string>{}; }), Error);
  write("one");
  snapshot_store().take("by hand");
  write("two");
  const auto drill = snapshot_store().drill([](const std::string& restored) {
    EXPECT_EQ(os::read_file(restored + "/state"), "one");
    return std::vector<std::string>{"slurmctld does not answer"};
  });
  EXPECT_EQ(drill.problems.size(), 1U);
  EXPECT_EQ(state(), "two");
  EXPECT_FALSE(os::exists(places_ / "c/drill"));
}

TEST_F(SnapshotStores, NeedAnOverlay) { EXPECT_THROW(SnapshotStore(places_ / "d", options_, clock_), Error); }

TEST(Schedules, SayAllThatIsWrong) {
  EXPECT_TRUE(problems(SnapshotSchedule{.every = hours{1}}).empty());
  EXPECT_EQ(problems(SnapshotSchedule{.every = Duration{1}, .keep = Retention{.daily = -1}}).size(), 2U);
  EXPECT_EQ(problems(BackupSchedule{.check_percent = 101}).size(), 3U);
}

TEST(Schedules, ComeDueAlsoWhenTheClockWentBack) {
  EXPECT_FALSE(is_due(Duration{0}, {}, kSnapshotStoreNoon));
  EXPECT_TRUE(is_due(hours{1}, {}, kSnapshotStoreNoon));
  EXPECT_FALSE(is_due(hours{1}, kSnapshotStoreNoon - hours{1} + Duration{1}, kSnapshotStoreNoon));
  EXPECT_TRUE(is_due(hours{1}, kSnapshotStoreNoon - hours{1}, kSnapshotStoreNoon));
  EXPECT_TRUE(is_due(hours{1}, kSnapshotStoreNoon + hours{1}, kSnapshotStoreNoon));
}

}  // namespace
}  // namespace underway::overlay
