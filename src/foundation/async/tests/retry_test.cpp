#include "async/retry.hpp"

#include <gtest/gtest.h>

namespace underway::async {
namespace {

using namespace std::chrono_literals;

RetryPolicy quick(std::optional<int> attempts = {}) {
  return RetryPolicy{.first = 1us, .most = 10us, .attempts = attempts};
}

struct FailsAtFirst {
  int failures;
  Code code;
  int calls = 0;
  awaitable<int> operator()() {
    if (++calls <= failures) throw Error(code, "not yet");
    co_return calls;
  }
};

TEST(Retry, TriesUntilItSucceeds) {
  Loop loop;
  FailsAtFirst attempt{3, Code::unavailable};
  EXPECT_EQ(loop.run_until_done(retry(quick(), attempt)), 4);
}

TEST(Retry, GivesUpAfterTheAttempts) {
  Loop loop;
  FailsAtFirst attempt{10, Code::timeout};
  EXPECT_THROW(loop.run_until_done(retry(quick(3), attempt)), Error);
  EXPECT_EQ(attempt.calls, 3);
}

TEST(Retry, DoesNotRepeatWhatCannotSucceed) {
  Loop loop;
  FailsAtFirst attempt{10, Code::denied};
  EXPECT_THROW(loop.run_until_done(retry(quick(), attempt)), Error);
  EXPECT_EQ(attempt.calls, 1);
}

TEST(Backoff, GrowsToItsLimitWithinTheJitter) {
  Backoff backoff({.first = 100ms, .most = 1s, .factor = 2, .jitter = 0.5}, 7);
  const Duration lengths[] = {100ms, 200ms, 400ms, 800ms, 1s, 1s};
  for (const Duration length : lengths) {
    const auto pause = backoff.next();
    ASSERT_TRUE(pause);
    EXPECT_GE(*pause, length / 2);
    EXPECT_LE(*pause, length);
  }
  backoff.reset();
  EXPECT_LE(*backoff.next(), Duration(100ms));
}

TEST(Backoff, DiffersBetweenSeeds) {
  Backoff a({}, 1);
  Backoff b({}, 2);
  EXPECT_NE(*a.next(), *b.next());
}

}  // namespace
}  // namespace underway::async
