#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/capsule_history.hpp"

namespace underway::sim {
namespace {

/// CAPSULE_SEED runs one history again; CAPSULE_SEEDS says how many there are.
std::vector<Seed> seeds(Seed count) {
  if (const char* one = std::getenv("CAPSULE_SEED")) return {std::strtoull(one, nullptr, 10)};
  if (const char* more = std::getenv("CAPSULE_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<Seed> out(count);
  for (Seed i = 0; i < count; ++i) out[i] = i + 1;
  return out;
}

TEST(CapsuleSim, NeverRunsTwiceAndIsNeverLostWhateverHappens) {
  std::int64_t moves = 0, failovers = 0;
  const auto all = seeds(3'000);
  for (const Seed seed : all) {
    SCOPED_TRACE(fmt::format("CAPSULE_SEED={}", seed));
    CapsuleHistory history(seed);
    for (int i = 0; i < 80 && history.violations().empty(); ++i) history.disturb();
    EXPECT_TRUE(history.settle(seed % 2 == 0)) << "it does not come to work again" << history.description();
    EXPECT_TRUE(history.violations().empty()) << history.violations().front() << history.description();
    moves += history.moves();
    failovers += history.failovers();
    if (::testing::Test::HasFailure()) return;
  }
  if (all.size() < 100) return;
  EXPECT_GE(moves, static_cast<std::int64_t>(all.size())) << "histories without moves prove nothing";
  EXPECT_GE(failovers, static_cast<std::int64_t>(all.size() / 10));
  RecordProperty("moves", std::to_string(moves));
  RecordProperty("failovers", std::to_string(failovers));
}

/// A history without chance, up to the end of a move from the first machine to the second. Returns how many events it
/// took.
int events_of_a_move() {
  auto history = CapsuleHistory::calm();
  const int from = history.working_on();
  EXPECT_GE(from, 0);
  const int to = from == 1 ? 2 : 1;
  history.begin_move(to);
  EXPECT_TRUE(history.moving());
  history.arm(-1, Victim::server, true);
  for (int i = 0; i < 100 && history.moving(); ++i) history.step_calmly();
  EXPECT_FALSE(history.moving());
  EXPECT_EQ(history.working_on(), to) << history.description();
  EXPECT_TRUE(history.violations().empty()) << history.violations().front();
  return history.events();
}

TEST(CapsuleSim, AMoveEndsWhoeverDiesAtWhicheverEvent) {
  const int events = events_of_a_move();
  ASSERT_GT(events, 20);
  int histories = 0;
  for (int event = 1; event <= events; ++event) {
    for (int victim = 0; victim < kVictims; ++victim) {
      for (const bool comes_back : {true, false}) {
        const auto dies = static_cast<Victim>(victim);
        const bool host = dies == Victim::source_host || dies == Victim::target_host ||
                          dies == Victim::source_and_server || dies == Victim::target_and_server;
        if (!comes_back && !host) continue;
        SCOPED_TRACE(fmt::format("event {} of {}, victim {}, {}", event, events, victim,
                                 comes_back ? "comes back" : "stays off"));
        auto history = CapsuleHistory::calm();
        const int from = history.working_on();
        history.begin_move(from == 1 ? 2 : 1);
        history.arm(event, dies, comes_back);
        for (int i = 0; i < 30; ++i) history.step_calmly();
        const bool settled = history.settle(false);
        // Before the first round the only overlay may have gone with its host, for good.
        const bool lost_with_host = !comes_back && host && history.failovers() == 0 && history.working_on() < 0;
        EXPECT_TRUE(settled || lost_with_host) << history.description();
        EXPECT_TRUE(history.violations().empty()) << history.violations().front() << history.description();
        ++histories;
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  RecordProperty("histories", std::to_string(histories));
}

}  // namespace
}  // namespace underway::sim
