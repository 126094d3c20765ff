#include "overlay/shelf.hpp"

#include "base/error.hpp"
#include "trees.hpp"

namespace underway::overlay {
namespace {

using std::chrono::hours;

constexpr TimePoint kShelfNoon{std::chrono::seconds{1'764'072'000}};

class Shelves : public testing::Test {
 protected:
  Shelves() {
    open_overlay({.kind = Kind::directory}, places_ / "c/overlay");
    options_ = {.capsule = "default/c", .image = "sha256:new"};
    options_.now = [this] { return now_ += std::chrono::minutes{1}; };
  }
  Shelf shelf() const { return {places_ / "c", options_}; }
  std::string upper() const { return places_ / "c/overlay/upper"; }
  void write(const std::string& text) const { os::write_file(upper() + "/state", text); }
  std::string state() const { return os::read_file(upper() + "/state"); }
  Places places_;
  TimePoint now_ = kShelfNoon;
  ShelfOptions options_;
};

TEST_F(Shelves, RestoreAndKeepAWayBack) {
  write("one");
  const auto one = shelf().take("by hand");
  write("two");
  const auto before = shelf().restore(one.id);
  EXPECT_EQ(state(), "one");
  EXPECT_EQ(before.reason, "before restore");
  shelf().restore(before.id);
  EXPECT_EQ(state(), "two");
  EXPECT_THROW(shelf().restore("none"), Error);
  EXPECT_EQ(shelf().list().size(), 3U) << "a snapshot that is not there costs no other";
}

TEST_F(Shelves, RollBackToTheLastStateOfAnotherImage) {
  EXPECT_THROW(shelf().roll_back(), Error);
  options_.image = "sha256:old";
  write("before the upgrade");
  shelf().take("before upgrade");
  options_.image = "sha256:new";
  write("migrated");
  shelf().take("schedule");
  const auto done = shelf().roll_back();
  EXPECT_EQ(state(), "before the upgrade");
  EXPECT_EQ(done.target.image, "sha256:old");
  EXPECT_EQ(done.before.image, "sha256:new");
}

TEST_F(Shelves, TouchNothingThatRuns) {
  write("one");
  const auto one = shelf().take("by hand");
  write("two");
  options_.running = true;
  EXPECT_THROW(shelf().restore(one.id), Error);
  EXPECT_THROW(shelf().roll_back(), Error);
  EXPECT_EQ(state(), "two");
}

TEST_F(Shelves, KeepOnlyWhatIsWanted) {
  write("one");
  for (int i = 0; i < 5; ++i) shelf().take("schedule", {.last = 2});
  EXPECT_EQ(shelf().list().size(), 2U);
}

TEST_F(Shelves, KeepTheLastOfAReasonAndAllOthers) {
  write("one");
  shelf().take("by hand");
  for (int i = 0; i < 5; ++i) shelf().take("before move");
  const auto newest = shelf().list().back().id;
  shelf().keep_last("before move", 3);
  const auto list = shelf().list();
  ASSERT_EQ(list.size(), 4U);
  EXPECT_EQ(list.front().reason, "by hand");
  EXPECT_EQ(list.back().id, newest);
}

TEST_F(Shelves, TryWhatIsSaved) {
  EXPECT_THROW(shelf().drill([](const std::string&) { return std::vector<std::string>{}; }), Error);
  write("one");
  shelf().take("by hand");
  write("two");
  const auto drill = shelf().drill([](const std::string& restored) {
    EXPECT_EQ(os::read_file(restored + "/state"), "one");
    return std::vector<std::string>{"slurmctld does not answer"};
  });
  EXPECT_EQ(drill.problems.size(), 1U);
  EXPECT_EQ(state(), "two");
  EXPECT_FALSE(os::exists(places_ / "c/drill"));
}

TEST_F(Shelves, NeedAnOverlay) { EXPECT_THROW(Shelf(places_ / "d", options_), Error); }

TEST(Schedules, SayAllThatIsWrong) {
  EXPECT_TRUE(problems(SnapshotSchedule{.every = hours{1}}).empty());
  EXPECT_EQ(problems(SnapshotSchedule{.every = Duration{1}, .keep = Retention{.daily = -1}}).size(), 2U);
  EXPECT_EQ(problems(BackupSchedule{.check_percent = 101}).size(), 3U);
}

TEST(Schedules, ComeDueAlsoWhenTheClockWentBack) {
  EXPECT_FALSE(is_due(Duration{0}, {}, kShelfNoon));
  EXPECT_TRUE(is_due(hours{1}, {}, kShelfNoon));
  EXPECT_FALSE(is_due(hours{1}, kShelfNoon - hours{1} + Duration{1}, kShelfNoon));
  EXPECT_TRUE(is_due(hours{1}, kShelfNoon - hours{1}, kShelfNoon));
  EXPECT_TRUE(is_due(hours{1}, kShelfNoon + hours{1}, kShelfNoon));
}

}  // namespace
}  // namespace underway::overlay
