#include "saving/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace underway::saving {
namespace {

using model::CapsuleSaving;
using model::SavedWork;
using std::chrono::hours;
using std::chrono::minutes;

const TimePoint kBegin = from_unix_nanos(1'790'000'000'000'000'000);
TimePoint at(Duration after) { return kBegin + after; }

CapsuleSaving asked(Duration snapshot, Duration backup = Duration{0}, Duration drill = Duration{0}) {
  CapsuleSaving saved{.ns = "default", .name = "web"};
  saved.since = unix_nanos(kBegin);
  saved.snapshot.every = snapshot;
  saved.backup.every = backup;
  saved.drill.every = drill;
  return saved;
}

TEST(Schedule, SpreadsFirstTimesAndKeepsTheIntervalThen) {
  struct Case {
    const char* name;
    SavedWork work;
    double spread;
    std::optional<Duration> expect;
  };
  const auto begun = unix_nanos(at(hours(5)));
  const std::vector<Case> cases = {
      {"nobody asks", {}, 0.5, std::nullopt},
      {"first of all", {.every = hours(10)}, 0.0, hours(0)},
      {"the last of all", {.every = hours(10)}, 1.0, hours(1)},
      {"in between", {.every = hours(10)}, 0.5, minutes(30)},
      {"after one that went well", {.every = hours(10), .begun_at = begun, .done_at = begun}, 1.0, hours(15)},
      {"after a failure", {.every = hours(10), .begun_at = begun, .error = "no"}, 0.0, hours(5) + minutes(10)},
      {"never more often than asked",
       {.every = minutes(2), .begun_at = begun, .error = "no"},
       0.0,
       hours(5) + minutes(2)},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const auto due = model::due_at(c.work, unix_nanos(kBegin), c.spread);
    EXPECT_EQ(due.has_value(), c.expect.has_value());
    if (due && c.expect) {
      EXPECT_EQ(*due, at(*c.expect));
    }
  }
}

TEST(Schedule, SpreadIsTheSameForACapsuleAndDiffersBetweenThem) {
  EXPECT_EQ(spread_of("default", "web"), spread_of("default", "web"));
  std::set<int> tenths;
  for (int n = 0; n < 200; ++n) {
    const auto spread = spread_of("default", fmt::format("capsule-{}", n));
    EXPECT_GE(spread, 0.0);
    EXPECT_LT(spread, 1.0);
    tenths.insert(static_cast<int>(spread * 10));
  }
  EXPECT_EQ(tenths.size(), 10U);
}

TEST(Schedule, DoesWhatHasWaitedLongestAndTriesNothingBeforeThereIsABackup) {
  auto saved = asked(hours(1), hours(24), hours(168));
  EXPECT_EQ(due(saved, at(hours(300))), Work::snapshot) << "its first time comes first";
  saved.snapshot.begun_at = saved.snapshot.done_at = unix_nanos(at(hours(299)));
  EXPECT_EQ(due(saved, at(hours(299))), Work::backup);
  saved.backup.begun_at = unix_nanos(at(hours(299)));
  saved.backup.error = "no place";
  EXPECT_EQ(due(saved, at(hours(299) + minutes(1))), std::nullopt) << "no drill of nothing";
  saved.backup.error.clear();
  saved.backup.done_at = saved.backup.begun_at;
  EXPECT_EQ(due(saved, at(hours(299) + minutes(1))), Work::drill);
  saved.drill.begun_at = saved.drill.done_at = unix_nanos(at(hours(299)));
  EXPECT_EQ(due(saved, at(hours(299) + minutes(59))), std::nullopt);
  EXPECT_EQ(due(saved, at(hours(300))), Work::snapshot);
  // The clock was set back to before the last time.
  EXPECT_EQ(due(saved, at(hours(100))), Work::snapshot);
}

TEST(Schedule, SaysWhatFailsAndWhatIsOverdue) {
  auto saved = asked(hours(1), hours(24));
  EXPECT_THAT(saved.problems(at(hours(2))), testing::IsEmpty()) << "it has only begun";
  EXPECT_THAT(saved.problems(at(hours(3))),
              testing::ElementsAre("its last snapshot is 3h0m old, and one is wanted every 1h0m"));
  saved.snapshot.begun_at = saved.snapshot.done_at = unix_nanos(at(hours(3)));
  saved.backup = {.every = hours(24), .begun_at = unix_nanos(at(hours(3))), .error = "wrong password", .failures = 2};
  EXPECT_THAT(saved.problems(at(hours(3))),
              testing::ElementsAre(testing::HasSubstr("its backup has failed 2 times since")));
}

TEST(Schedule, TheNewestSnapshotNeverGivesWayAndOthersOneByOne) {
  const model::Snapshot first{.id = "1"}, second{.id = "2"}, third{.id = "3"};
  const auto id = [](const std::optional<model::Snapshot>& snapshot) { return snapshot ? snapshot->id : "none"; };
  EXPECT_EQ(id(gives_way({}, {}, kBegin)), "none");
  EXPECT_EQ(id(gives_way({third}, {}, kBegin)), "none") << "it is all there is";
  EXPECT_EQ(id(gives_way({first, second, third}, {}, kBegin)), "1");
  const Room room{kBegin};
  EXPECT_EQ(id(gives_way({second, third}, room, at(std::chrono::seconds(15)))), "none") << "the disk is still at it";
  EXPECT_EQ(id(gives_way({second, third}, room, at(minutes(5)))), "2");
  EXPECT_EQ(id(gives_way({third}, room, at(hours(5)))), "none");
  EXPECT_EQ(id(gives_way({second, third}, room, at(-hours(1)))), "2") << "the clock was set back";
}

TEST(Schedule, ACopyForOnceTakesNoOthersAway) {
  run::Saving saving;
  saving.job.groups.emplace_back().tasks.emplace_back().config = boost::json::parse(R"({"image": "web:1"})");
  std::vector<model::Snapshot> taken;
  for (int n = 0; n < 4; ++n)
    taken.push_back(
        {.id = fmt::format("{}", n), .at = unix_nanos(at(hours(n))), .method = model::SnapshotMethod::clone});
  taken.back().method = model::SnapshotMethod::copy;
  EXPECT_THAT(superfluous(saving, taken), testing::IsEmpty());
  for (auto& snapshot : taken) snapshot.method = model::SnapshotMethod::copy;
  EXPECT_THAT(superfluous(saving, taken), testing::ElementsAre("0", "1"));
}

TEST(Space, IsToldWhileSomethingIsLeftOfIt) {
  CapsuleSaving saved{.ns = "default", .name = "web"};
  EXPECT_FALSE(saved.almost_full()) << "nobody has looked";
  saved.node_name = "infra1";
  saved.overlay_size = 32 << 20;
  saved.overlay_used = 89;
  EXPECT_EQ(saved.space_problem(), "");
  saved.overlay_used = 90;
  EXPECT_NE(saved.space_problem().find("its overlay on infra1 is 90 % full (32.0 MiB)"), std::string::npos)
      << saved.space_problem();
}

}  // namespace
}  // namespace underway::saving
