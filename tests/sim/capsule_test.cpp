#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/capsule_history.hpp"

namespace underway::sim {
namespace {

/// CAPSULE_SEED runs one history again; CAPSULE_SEEDS says how many there are.
std::vector<Seed> seeds(Seed count) {
  if (const char* seed = std::getenv("CAPSULE_SEED")) return {std::strtoull(seed, nullptr, 10)};
  if (const char* more = std::getenv("CAPSULE_SEEDS")) count = std::strtoull(more, nullptr, 10);
  std::vector<Seed> out(count);
  for (Seed i = 0; i < count; ++i) out[i] = i + 1;
  return out;
}

TEST(CapsuleSim, NeverRunsTwiceAndIsNeverLostWhateverHappens) {
  std::int64_t moves = 0, failovers = 0, upgrades = 0, rolled_back = 0;
  const auto all = seeds(3'000);
  for (const Seed seed : all) {
    SCOPED_TRACE(fmt::format("CAPSULE_SEED={}", seed));
    CapsuleHistory history(seed);
    for (int i = 0; i < 80 && history.violations().empty(); ++i) history.disturb();
    EXPECT_TRUE(history.settle(seed % 2 == 0)) << "it does not come to work again" << history.description();
    EXPECT_TRUE(history.violations().empty()) << history.violations().front() << history.description();
    moves += history.moves();
    failovers += history.failovers();
    upgrades += history.upgrades();
    rolled_back += history.rolled_back();
    if (::testing::Test::HasFailure()) return;
  }
  if (all.size() < 100) return;
  EXPECT_GE(moves, static_cast<std::int64_t>(all.size())) << "histories without moves prove nothing";
  EXPECT_GE(failovers, static_cast<std::int64_t>(all.size() / 10));
  EXPECT_GE(upgrades, static_cast<std::int64_t>(all.size() / 10));
  EXPECT_GE(rolled_back, static_cast<std::int64_t>(all.size() / 10));
  RecordProperty("moves", std::to_string(moves));
  RecordProperty("upgrades", std::to_string(upgrades));
  RecordProperty("rolled_back", std::to_string(rolled_back));
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

using NewImage = CapsuleHistory::NewImage;

/// Of the first image to the second, or (`back`) back to it.
void begin_upgrade(CapsuleHistory& history, NewImage image, bool back, bool copies) {
  if (copies) history.keep_copies_on(history.working_on() == 1 ? 2 : 1);
  for (int i = 0; i < 20; ++i) history.step_calmly();
  history.begin_upgrade(back ? NewImage::works : image);
  if (!back) return;
  for (int i = 0; i < 100 && history.upgrading(); ++i) history.step_calmly();
  EXPECT_EQ(history.upgrades(), 1) << history.description();
  history.take_back();
}

int events_of_an_upgrade(NewImage image, bool back, bool copies) {
  auto history = CapsuleHistory::calm();
  begin_upgrade(history, image, back, copies);
  EXPECT_TRUE(history.upgrading());
  history.arm(-1, Victim::server, true);
  for (int i = 0; i < 200 && history.upgrading(); ++i) history.step_calmly();
  EXPECT_FALSE(history.upgrading()) << history.description();
  EXPECT_EQ(history.image(), image == NewImage::works && !back ? 2 : 1) << history.description();
  EXPECT_EQ(history.rolled_back(), image == NewImage::works ? 0 : 1);
  EXPECT_TRUE(history.violations().empty()) << history.violations().front();
  return history.events();
}

/// What an upgrade promises is looked at in check_start, whenever anything starts.
void upgrades_end_whoever_dies(NewImage image, bool back, bool copies) {
  const int events = events_of_an_upgrade(image, back, copies);
  ASSERT_GT(events, 20);
  for (int event = 1; event <= events; ++event) {
    for (const auto dies : {Victim::server, Victim::source_agent, Victim::source_host, Victim::source_link,
                            Victim::source_and_server, Victim::everything}) {
      for (const bool comes_back : {true, false}) {
        const bool host = dies == Victim::source_host || dies == Victim::source_and_server;
        if (!comes_back && !host) continue;
        SCOPED_TRACE(fmt::format("event {} of {}, victim {}, {}", event, events, static_cast<int>(dies),
                                 comes_back ? "comes back" : "stays off"));
        auto history = CapsuleHistory::calm();
        begin_upgrade(history, image, back, copies);
        history.arm(event, dies, comes_back);
        for (int i = 0; i < 60; ++i) history.step_calmly();
        const bool settled = history.settle(false);
        // Copies hold what the image wrote that was taken back, until there is a new one.
        const bool lost_with_host = !comes_back && !history.another_has_a_copy() && history.working_on() < 0;
        EXPECT_TRUE(settled || lost_with_host) << history.description();
        EXPECT_TRUE(history.violations().empty()) << history.violations().front() << history.description();
        if (settled && image != NewImage::works) EXPECT_EQ(history.image(), 1) << history.description();
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

TEST(CapsuleSim, AnUpgradeEndsWhoeverDiesAtWhicheverEvent) {
  for (const bool copies : {false, true}) upgrades_end_whoever_dies(NewImage::works, false, copies);
}

TEST(CapsuleSim, AnUpgradeThatFailsLeavesTheOldImageWithItsDataWhoeverDies) {
  for (const bool copies : {false, true}) {
    upgrades_end_whoever_dies(NewImage::does_not_start, false, copies);
    upgrades_end_whoever_dies(NewImage::fails_its_check, false, copies);
  }
}

TEST(CapsuleSim, AnUpgradeIsTakenBackWhoeverDies) {
  for (const bool copies : {false, true}) upgrades_end_whoever_dies(NewImage::works, true, copies);
}

}  // namespace
}  // namespace underway::sim
