#include "async/group.hpp"

#include <gtest/gtest.h>

namespace underway::async {
namespace {

using namespace std::chrono_literals;

struct CountEnd {
  int& ended;
  ~CountEnd() { ++ended; }
};

awaitable<void> sleep_long(int& ended) {
  const CountEnd count{ended};
  co_await sleep_for(1h);
}
awaitable<void> clean_up_slowly(int& ended) {
  const CountEnd count{ended};
  try {
    co_await sleep_for(1h);
  } catch (const Cancelled&) {  // what follows is the cleaning up
  }
}
awaitable<void> fail() {
  throw Error(Code::conflict, "it broke");
  co_return;
}

TEST(TaskGroup, StopCancelsAndWaitsForAll) {
  Loop loop;
  TaskGroup group(loop.executor(), "test");
  int ended = 0;
  for (int i = 0; i < 10; ++i) group.spawn("sleeper", sleep_long(ended));
  group.spawn("cleaner", clean_up_slowly(ended));
  EXPECT_EQ(group.size(), 11u);
  loop.context().poll();
  loop.run_until_done(group.stop());
  EXPECT_EQ(ended, 11);
  EXPECT_EQ(group.size(), 0u);
}

awaitable<void> own_a_group(TaskGroup& inner, int& ended) {
  const CountEnd count{ended};
  try {
    co_await sleep_for(1h);
  } catch (const Cancelled&) {  // what follows is the cleaning up
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await inner.stop();
}

TEST(TaskGroup, CanBeStoppedByACoroutineThatIsCancelledItself) {
  Loop loop;
  TaskGroup outer(loop.executor(), "outer");
  TaskGroup inner(loop.executor(), "inner");
  int ended = 0;
  inner.spawn("cleaner", clean_up_slowly(ended));
  outer.spawn("owner", own_a_group(inner, ended));
  loop.context().poll();
  loop.run_until_done(outer.stop());
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(inner.size(), 0u);
}

/// Counts its begin, and holds on to where it does for as long as its frame is there.
awaitable<void> count_begin(std::shared_ptr<int> begun) {
  ++*begun;
  co_await sleep_for(1h);
}
awaitable<void> cancel(TaskGroup& group) {
  group.cancel();
  co_return;
}

TEST(TaskGroup, NeverBeginsATaskThatIsCancelledBeforeTheLoopRuns) {
  Loop loop;
  TaskGroup group(loop.executor(), "test");
  const auto begun = std::make_shared<int>(0);
  group.spawn("sleeper", count_begin(begun));
  group.cancel();
  EXPECT_NO_THROW(loop.context().run());
  EXPECT_EQ(*begun, 0);
  EXPECT_EQ(begun.use_count(), 1);
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, NeverBeginsATaskThatIsCancelledByOneAheadOfIt) {
  Loop loop;
  TaskGroup group(loop.executor(), "test");
  const auto begun = std::make_shared<int>(0);
  group.spawn("canceller", cancel(group));
  group.spawn("sleeper", count_begin(begun));
  EXPECT_NO_THROW(loop.context().run());
  EXPECT_EQ(*begun, 0);
  EXPECT_EQ(begun.use_count(), 1);
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, StopWaitsForWhatHasNotBegun) {
  Loop loop;
  TaskGroup outer(loop.executor(), "outer");
  TaskGroup group(loop.executor(), "test");
  const auto begun = std::make_shared<int>(0);
  outer.spawn("stopper", group.stop());
  group.spawn("sleeper", count_begin(begun));
  EXPECT_NO_THROW(loop.run_until_done(outer.wait()));
  EXPECT_EQ(*begun, 0);
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, EndsATaskThatCancelsItselfAndNeverWaits) {
  Loop loop;
  TaskGroup group(loop.executor(), "test");
  loop.post([&] { EXPECT_NO_THROW(group.spawn("canceller", cancel(group))); });
  EXPECT_NO_THROW(loop.context().run());
  EXPECT_EQ(group.size(), 0u);
}

TEST(TaskGroup, StartsNothingAfterStop) {
  Loop loop;
  TaskGroup group(loop.executor(), "test");
  loop.run_until_done(group.stop());
  int ended = 0;
  group.spawn("late", sleep_long(ended));
  EXPECT_EQ(group.size(), 0u);
  EXPECT_EQ(ended, 0);
}

TEST(TaskGroup, LogsAFailureAndGoesOn) {
  Loop loop;
  TaskGroup group(loop.executor(), "server");
  testing::internal::CaptureStderr();
  group.spawn("control loop", fail());
  loop.run_until_done(group.wait());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("server: control loop: it broke"));
  int ended = 0;
  group.spawn("next", sleep_long(ended));
  EXPECT_EQ(group.size(), 1u);
  loop.run_until_done(group.stop());
  EXPECT_EQ(ended, 1);
}

TEST(TaskGroup, DestructionCancelsWhatIsLeft) {
  Loop loop;
  int ended = 0;
  {
    TaskGroup group(loop.executor(), "test");
    group.spawn("sleeper", sleep_long(ended));
    loop.context().poll();
  }
  loop.context().restart();
  loop.context().run();
  EXPECT_EQ(ended, 1);
}

}  // namespace
}  // namespace underway::async
