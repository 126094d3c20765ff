#include "async/watchdog.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "base/allowance.hpp"

namespace underway::async {
namespace {

using namespace std::chrono_literals;

void compute(Duration span) {
  const Duration begin = thread_cpu_time();
  while (thread_cpu_time() - begin < span) {
  }
}

/// A loop whose watchdog tells of what held it.
class WatchdogTest : public ::testing::Test {
 protected:
  WatchdogTest() {
    Watchdog::of(loop.context()).on_hold([this](const Hold& hold) { held.push_back(hold); });
  }

  Loop loop;
  std::vector<Hold> held;
};

awaitable<void> hold_while(std::string what, Duration span) {
  if (!what.empty()) doing(what);
  compute(span);
  co_return;
}

TEST_F(WatchdogTest, TellsWhatHeldTheLoop) {
  run_watched(loop, hold_while("GET /v1/jobs", 80ms));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].doing, "GET /v1/jobs");
  EXPECT_GE(held[0].took, 80ms);
  EXPECT_GE(held[0].computed, 80ms);
  EXPECT_EQ(Watchdog::of(loop.context()).holds(), 1u);
  EXPECT_GE(Watchdog::of(loop.context()).longest(), 80ms);
}

TEST_F(WatchdogTest, SaysNothingOfWhatIsShort) {
  for (int i = 0; i < 20; ++i) run_watched(loop, hold_while("short", 1ms));
  EXPECT_TRUE(held.empty());
}

awaitable<void> wake_and_hold(Duration asleep, Duration span) {
  co_await sleep_for(asleep);
  compute(span);
}

TEST_F(WatchdogTest, SleepIsNotHeldAgainstWhatEndsIt) {
  run_watched(loop, wake_and_hold(150ms, 1ms));
  EXPECT_TRUE(held.empty());
  run_watched(loop, wake_and_hold(10ms, 80ms));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_LT(held[0].computed, 1s);
  EXPECT_EQ(held[0].doing, "") << "what one callback tells is not said of the next";
}

/// What blocks computes nothing, and holds the loop all the same.
awaitable<void> block(Duration asleep) {
  co_await sleep_for(5ms);
  doing("reading a disk");
  std::this_thread::sleep_for(asleep);
}

TEST_F(WatchdogTest, SeesWhatBlocks) {
  run_watched(loop, block(80ms));
  ASSERT_EQ(held.size(), 1u);
  EXPECT_GE(held[0].took, 80ms);
  EXPECT_LT(held[0].computed, 80ms);
  EXPECT_EQ(held[0].doing, "reading a disk");
}

TEST_F(WatchdogTest, RunIsWatched) {
  loop.post([] { compute(80ms); });
  loop.post([this] { loop.stop(); });
  loop.run();
  EXPECT_EQ(held.size(), 1u);
}

}  // namespace
}  // namespace underway::async
