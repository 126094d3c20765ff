#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/rollout_history.hpp"

namespace underway::sim {
namespace {

/// ROLLOUT_SEED runs one history again; ROLLOUT_SEEDS says how many there are.
std::vector<Seed> seeds(Seed count) {
  if (const char* seed = std::getenv("ROLLOUT_SEED")) return {std::strtoull(seed, nullptr, 10)};
  if (const char* more = std::getenv("ROLLOUT_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<Seed> out(count);
  for (Seed i = 0; i < count; ++i) out[i] = i + 1;
  return out;
}

TEST(RolloutSim, KeepsItsPromisesAndEndsSettledWhateverHappens) {
  std::int64_t rollouts = 0;
  const auto all = seeds(10'000);
  for (const Seed seed : all) {
    SCOPED_TRACE(fmt::format("ROLLOUT_SEED={}", seed));
    RolloutHistory history(seed);
    for (int i = 0; i < 50; ++i) history.disturb();
    EXPECT_TRUE(history.settle()) << "a rollout never ends: " << history.description();
    EXPECT_EQ(history.mend(), "") << history.description();
    EXPECT_TRUE(history.violations().empty()) << history.violations().front() << ": " << history.description();
    rollouts += history.rollouts();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GE(rollouts, static_cast<std::int64_t>(all.size())) << "histories without rollouts prove nothing";
  RecordProperty("rollouts", std::to_string(rollouts));
}

TEST(RolloutSim, OfAClusterEndsAsItsVersionDeservesWheneverTheServerIsAway) {
  for (const Seed seed : seeds(300)) {
    for (const Kind kind : {Kind::good, Kind::crashes, Kind::hangs}) {
      for (int steps = 0; steps < 12; ++steps) {
        SCOPED_TRACE(fmt::format("ROLLOUT_SEED={}, kind {}, away after {} steps", seed, static_cast<int>(kind), steps));
        RolloutHistory history(seed, RolloutHistory::World::cluster);
        EXPECT_EQ(history.outcome(kind, steps), "") << history.description();
        EXPECT_TRUE(history.violations().empty()) << history.violations().front() << ": " << history.description();
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace underway::sim
