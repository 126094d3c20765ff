// When failed allocations are replaced.
#include "scheduler/reconcile/reschedule.hpp"

#include <gtest/gtest.h>

#include "tests/world.hpp"

namespace underway::scheduler {
namespace {

using namespace underway::scheduler::testing;
using namespace std::chrono_literals;
using model::DelayFunction;
using model::ReschedulePolicy;

constexpr std::int64_t kSecond = 1'000'000'000;

/// Fails one second after each start, and tells how long each failure is waited with; stops when none may follow.
std::vector<std::int64_t> waits(const ReschedulePolicy& policy, int failures, Duration runs = 1s) {
  std::vector<std::int64_t> out;
  Allocation allocation;
  allocation.create_time = kSecond;
  for (int i = 0; i < failures; ++i) {
    allocation.id = std::to_string(i);
    allocation.modify_time = allocation.create_time + runs.count();
    const auto when = replacement_time(allocation, policy);
    if (!when) break;
    out.push_back((*when - allocation.modify_time) / kSecond);
    Allocation next;
    next.reschedules = reschedules_after(allocation, policy, *when);
    next.create_time = *when;
    allocation = next;
  }
  return out;
}

TEST(Reschedule, WaitsAsTheFunctionSays) {
  using Waits = std::vector<std::int64_t>;
  struct Case {
    const char* name;
    ReschedulePolicy policy;
    Duration runs;
    Waits expect;
  };
  const auto policy = [](DelayFunction function, Duration delay, Duration longest) {
    return ReschedulePolicy{0, Duration{0}, delay, function, longest, true};
  };
  const std::vector<Case> cases = {
      {"constant", policy(DelayFunction::constant, 7s, 1h), 1s, Waits(8, 7)},
      {"exponential", policy(DelayFunction::exponential, 5s, 1min), 1s, {5, 10, 20, 40, 60, 60, 60, 60}},
      {"fibonacci", policy(DelayFunction::fibonacci, 5s, 50s), 1s, {5, 5, 10, 15, 25, 40, 50, 50}},
      {"what ran longer than the longest delay starts anew", policy(DelayFunction::exponential, 5s, 10s), 11s,
       Waits(8, 5)},
      {"the delay beyond its own limit", policy(DelayFunction::exponential, 2h, 1h), 1s, Waits(8, 3600)},
      {"attempts", {3, 1h, 5s, DelayFunction::constant, 1h, false}, 1s, Waits(3, 5)},
      {"attempts long ago do not count", {3, 1h, 5s, DelayFunction::constant, 1h, false}, 30min, Waits(8, 5)},
      {"none", {0, 1h, 5s, DelayFunction::constant, 1h, false}, 1s, {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(waits(c.policy, 8, c.runs), c.expect);
  }
}

TEST(Reschedule, RemembersNoMoreThanItNeeds) {
  const auto after = [](const ReschedulePolicy& policy, int failures) {
    Allocation allocation;
    for (int i = 0; i < failures; ++i) {
      allocation.reschedules = reschedules_after(allocation, policy, i * kSecond);
      allocation.id = std::to_string(i);
    }
    return allocation.reschedules;
  };
  const auto unlimited = after({0, Duration{0}, 5s, DelayFunction::fibonacci, 1h, true}, 1000);
  EXPECT_EQ(unlimited.size(), 5u);
  EXPECT_EQ(unlimited.back().previous_allocation, "998");
  EXPECT_EQ(after({20, 24h, 5s, DelayFunction::constant, 1h, false}, 1000).size(), 20u);
}

TEST(Reschedule, CountsByTheServersClock) {
  Allocation failed;
  failed.create_time = 100 * kSecond;
  failed.modify_time = 200 * kSecond;
  for (const std::int64_t skew : {-600, 0, 600}) {
    failed.task_states["t"].finished_at = (200 + skew) * kSecond;
    EXPECT_EQ(replacement_time(failed, ReschedulePolicy{}), 230 * kSecond) << "clocks that differ by " << skew << " s";
  }
}

TEST(Reschedule, IsDoneAtOnceWhenAPersonAsksForIt) {
  Allocation failed;
  failed.modify_time = 200 * kSecond;
  failed.transition.reschedule = true;
  EXPECT_EQ(replacement_time(failed, {0, 1h, 5s, DelayFunction::constant, 1h, false}), 200 * kSecond);
}

TEST(Reschedule, WritesDownWhatLedHereAndWhoWillLookAgain) {
  World world(1, 2);
  Job job = make_job("web");
  job.groups[0].reschedule =
      model::RescheduleStrategy{.attempts = 2, .interval = 1h, .delay = 10s, .delay_function = DelayFunction::constant};
  world.run(job);
  std::string previous;
  for (int failure = 0; failure < 3; ++failure) {
    world.start_all();
    const auto row = world.live("web").at(0);
    ASSERT_EQ(row->reschedules.size(), static_cast<std::size_t>(failure));
    if (failure > 0) {
      EXPECT_EQ(row->reschedules.back().previous_allocation, previous);
      EXPECT_EQ(row->reschedules.back().previous_node, world.alloc(previous)->node_id);
      EXPECT_EQ(row->reschedules.back().delay, Duration(10s));
    }
    previous = row->id;
    world.set_client(previous, ClientStatus::failed);
    const Plan plan = world.again("web", EvalTrigger::alloc_failure);
    if (failure == 2) {
      EXPECT_TRUE(plan.evaluations.empty()) << "two attempts in an hour";
      break;
    }
    ASSERT_EQ(plan.evaluations.size(), 1u);
    EXPECT_EQ(world.alloc(previous)->follow_up_eval, plan.evaluations[0].id);
    world.clock().advance(10s);
    EXPECT_EQ(world.work(), 1u);
  }
}

}  // namespace
}  // namespace underway::scheduler
