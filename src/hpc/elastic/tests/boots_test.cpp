#include <gtest/gtest.h>

#include "elastic/policy/boots.hpp"
#include "elastic/policy/curable.hpp"
#include "tests/support.hpp"

namespace underway::elastic {
namespace {

using namespace testing;

TEST(Boots, ComeInABurstAndThenAtTheRate) {
  Policy policy = make_policy();
  policy.boot_rate = 1.5;
  policy.boot_burst = 4;
  ClassState state;
  pass_time(state, policy, kNow);
  EXPECT_EQ(boots_allowed(state, kNow), 4);
  state.tokens -= 4;
  pass_time(state, policy, kNow + 1s);
  EXPECT_EQ(boots_allowed(state, kNow + 1s), 1);
  pass_time(state, policy, kNow + 2s);
  EXPECT_EQ(boots_allowed(state, kNow + 2s), 3);
  pass_time(state, policy, kNow + 1h);
  EXPECT_EQ(boots_allowed(state, kNow + 1h), 4) << "the burst is the most";
}

TEST(Boots, AreAskedForAtHalfTheRateAfterAnErrorAndRecoverSlowly) {
  Policy policy = make_policy();
  policy.boot_rate = 1.6;
  ClassState state;
  pass_time(state, policy, kNow);
  settle(state, policy, {"small", "n1", BootResult::control_plane, {}}, kNow);
  EXPECT_DOUBLE_EQ(state.rate, 0.8);
  EXPECT_EQ(boots_allowed(state, kNow), 0);
  for (int i = 0; i < 20; ++i) settle(state, policy, {"small", "n1", BootResult::control_plane, {}}, kNow);
  EXPECT_DOUBLE_EQ(state.rate, 0.1) << "a sixteenth is the least";
  settle(state, policy, {"small", "n1", BootResult::up, {}}, kNow);
  EXPECT_DOUBLE_EQ(state.rate, 0.18);
  for (int i = 0; i < 40; ++i) settle(state, policy, {"small", "n1", BootResult::up, {}}, kNow);
  EXPECT_DOUBLE_EQ(state.rate, 1.6);
}

TEST(Boots, PauseTwiceAsLongAfterEachRefusal) {
  Policy policy = make_policy();
  policy.backoff = 30s;
  policy.max_backoff = 100s;
  ClassState state;
  pass_time(state, policy, kNow);
  for (const Duration pause : {Duration{30s}, Duration{60s}, Duration{100s}, Duration{100s}}) {
    settle(state, policy, {"small", "", BootResult::refused, {}}, kNow);
    EXPECT_EQ(state.backoff_until, unix_nanos(kNow + pause));
  }
  EXPECT_EQ(boots_allowed(state, kNow + 99s), 0);
  EXPECT_EQ(boots_allowed(state, kNow + 100s), 100);
  settle(state, policy, {"small", "n1", BootResult::up, {}}, kNow);
  settle(state, policy, {"small", "", BootResult::over_quota, {}}, kNow);
  EXPECT_EQ(state.backoff_until, unix_nanos(kNow + 30s)) << "a success begins anew";
}

TEST(Breaker, OpensOnFailuresWithinTheWindowTriesOneAndDecidesByIt) {
  Policy policy = make_policy();
  policy.breaker = {3, 10min, 5min};
  ClassState state;
  pass_time(state, policy, kNow);
  const BootOutcome failed{"small", "n1", BootResult::failed, {}};
  settle(state, policy, failed, kNow);
  settle(state, policy, failed, kNow);
  pass_time(state, policy, kNow + 11min);
  settle(state, policy, failed, kNow + 11min);
  EXPECT_EQ(state.breaker, BreakerState::closed) << "two of the three are long past";
  settle(state, policy, failed, kNow + 12min);
  settle(state, policy, failed, kNow + 12min);
  EXPECT_EQ(state.breaker, BreakerState::open);
  EXPECT_EQ(boots_allowed(state, kNow + 12min), 0);
  pass_time(state, policy, kNow + 17min);
  EXPECT_EQ(state.breaker, BreakerState::half_open);
  EXPECT_EQ(boots_allowed(state, kNow + 17min), 1);
  state.booting = 1;
  EXPECT_EQ(boots_allowed(state, kNow + 17min), 0) << "one at a time";
  settle(state, policy, failed, kNow + 18min);
  EXPECT_EQ(state.breaker, BreakerState::open);
  pass_time(state, policy, kNow + 23min);
  settle(state, policy, {"small", "n2", BootResult::up, {}}, kNow + 23min);
  EXPECT_EQ(state.breaker, BreakerState::closed);
  EXPECT_EQ(state.failed_boots, 6);
}

TEST(Breaker, OpensOnABootLoop) {
  Policy policy = make_policy();
  policy.breaker.failures = 3;
  policy.min_uptime = 5min;
  ClassState state;
  pass_time(state, policy, kNow);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(state.breaker, BreakerState::closed);
    settle(state, policy, {"small", "n1", BootResult::up, {}}, kNow);
    settle(state, policy, {"small", "n1", BootResult::lost, 40s}, kNow);
  }
  EXPECT_EQ(state.breaker, BreakerState::open);
  ClassState steady;
  for (int i = 0; i < 9; ++i) settle(steady, policy, {"small", "n1", BootResult::lost, 2h}, kNow);
  EXPECT_EQ(steady.breaker, BreakerState::closed) << "a node that ran for hours has booted well";
}

TEST(Reasons, AreCuredByNodesOrNot) {
  for (const char* reason :
       {"Resources", "Priority", "None", "(Resources)", "PartitionConfig", "NodeDown",
        "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions",
        "ReqNodeNotAvail, UnavailableNodes:c[1-4]", "ReqNodeNotAvail, May be reserved for other job"})
    EXPECT_TRUE(capacity_cures(reason)) << reason;
  for (const char* reason : {"Dependency", "DependencyNeverSatisfied", "JobHeldUser", "JobHeldAdmin", "BeginTime",
                             "QOSMaxJobsPerUserLimit", "QOSGrpCpuLimit", "AssocGrpCPUMinutesLimit", "AssocMaxJobsLimit",
                             "Reservation", "PartitionDown", "PartitionTimeLimit", "JobArrayTaskLimit", "Licenses",
                             "ReqNodeNotAvail, Reserved for maintenance", "SomethingNew"})
    EXPECT_FALSE(capacity_cures(reason)) << reason;
}

TEST(Money, IsExact) {
  EXPECT_EQ(parse_money("0.35"), 350'000);
  EXPECT_EQ(parse_money("12"), 12'000'000);
  EXPECT_EQ(parse_money("0.000001"), 1);
  for (const char* text : {"", "-1", "1.", ".5", "1.0000001", "1e3", "1234567890", "1,5"})
    EXPECT_EQ(parse_money(text), std::nullopt) << text;
  EXPECT_EQ(format_money(350'000), "0.35");
  EXPECT_EQ(format_money(-12'000'001), "-12.000001");
  EXPECT_EQ(format_money(5'000'000), "5.00");
  EXPECT_EQ(cost_of(350'000, 90min), 525'000);
  EXPECT_EQ(cost_of(350'000, -1h), 0);
}

}  // namespace
}  // namespace underway::elastic
