#include "sim/control_plane.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace underway::sim {
namespace {

/// SIM_SEED runs one history again; SIM_SEEDS says how many there are.
std::vector<Seed> seeds(Seed count) {
  if (const char* one = std::getenv("SIM_SEED")) return {std::strtoull(one, nullptr, 10)};
  if (const char* more = std::getenv("SIM_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<Seed> out(count);
  for (Seed i = 0; i < count; ++i) out[i] = i + 1;
  return out;
}

std::string first_difference(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  const auto [left, right] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  if (left == a.end() && right == b.end()) return {};
  return (left == a.end() ? "nothing" : *left) + "\ninstead of\n" + (right == b.end() ? "nothing" : *right);
}

TEST(ControlPlaneSim, KeepsItsPromisesAndComesToRestWhateverHappens) {
  for (const Seed seed : seeds(300)) {
    SCOPED_TRACE(fmt::format("SIM_SEED={}", seed));
    ControlPlane world(seed);
    for (int i = 0; i < 60; ++i) world.disturb();
    EXPECT_TRUE(world.calm_down()) << "it never comes to rest";
    EXPECT_TRUE(world.violations().empty()) << world.violations().front();
    const auto unfulfilled = world.unfulfilled();
    EXPECT_TRUE(unfulfilled.empty()) << unfulfilled.front();
    // What the server knows is what the store holds.
    const auto before = world.state();
    world.restart_server();
    EXPECT_EQ(first_difference(world.state(), before), "");
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(ControlPlaneSim, TheSameSeedIsTheSameHistory) {
  const auto history = [] {
    ControlPlane world(42);
    for (int i = 0; i < 60; ++i) world.disturb();
    return world.state();
  };
  const auto first = history();
  EXPECT_FALSE(first.empty());
  EXPECT_EQ(first_difference(history(), first), "");
}

}  // namespace
}  // namespace underway::sim
