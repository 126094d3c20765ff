#include "server/job/clock_decisions.hpp"

#include "server/node/drain_decisions.hpp"
#include "server/testing/desk.hpp"

namespace underway::server::testing {
namespace {

using std::chrono::hours;
using std::chrono::seconds;
using Steady = std::chrono::steady_clock::time_point;

TEST(ClockWatch, TellsAJumpFromADrift) {
  ClockWatch watch;
  TimePoint now{hours(1000)};
  Steady steady{hours(1)};
  EXPECT_EQ(watch.look(now, steady), Duration{0});
  EXPECT_EQ(watch.look(now += hours(3), steady += hours(3)), Duration{0});
  EXPECT_EQ(watch.look(now += seconds(3), steady += seconds(1)), Duration{0}) << "it is slewed";
  EXPECT_EQ(watch.look(now += hours(24), steady), Duration(hours(24)));
  EXPECT_EQ(watch.look(now, steady), Duration{0}) << "told once";
  EXPECT_EQ(watch.look(now -= hours(48), steady), -Duration(hours(48)));
}

class ClockSet : public ::testing::TestWithParam<Duration> {
 protected:
  void set_clock() {
    desk.clock.advance(GetParam());
    desk.run(FollowClock{GetParam()});
  }
  Desk desk;
};

TEST_P(ClockSet, WhatWaitsIsLookedAtWhenItsTimeHasPassed) {
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto row = desk.only("web");
  desk.update(row->node_id, {report(row->id, model::ClientStatus::failed)});
  ASSERT_TRUE(desk.live("web").empty()) << "it is replaced after a while";
  set_clock();
  desk.schedule();
  EXPECT_TRUE(desk.live("web").empty());
  desk.clock.advance(seconds(60));
  desk.schedule();
  EXPECT_EQ(desk.live("web").size(), 1U);
}

TEST_P(ClockSet, ANodeThatIsNotHeardOfIsWaitedForAsLongAsEver) {
  desk.join(make_node(1));
  desk.register_job(make_job("web"));
  const auto row = desk.only("web");
  desk.update(row->node_id, {report(row->id, model::ClientStatus::running, true)});
  desk.down({row->node_id});
  const auto since = desk.tables.find_allocation(row->id)->unknown_since;
  ASSERT_GT(since, 0);
  set_clock();
  EXPECT_EQ(from_unix_nanos(desk.tables.find_allocation(row->id)->unknown_since), from_unix_nanos(since) + GetParam());
}

TEST_P(ClockSet, ADrainHasTheTimeThatItWasGiven) {
  desk.join(make_node(1));
  DrainNode drain;
  drain.node_id = uuid(1);
  drain.drain.emplace().deadline = hours(1);
  desk.register_job(make_job("web"));
  desk.run(drain);
  const auto before = desk.tables.find_node(uuid(1))->drain->force_deadline;
  ASSERT_GT(before, 0);
  set_clock();
  EXPECT_EQ(from_unix_nanos(desk.tables.find_node(uuid(1))->drain->force_deadline),
            from_unix_nanos(before) + GetParam());
}

INSTANTIATE_TEST_SUITE_P(ByADay, ClockSet, ::testing::Values(Duration(hours(24)), -Duration(hours(24))));

}  // namespace
}  // namespace underway::server::testing
