#include "async/loop.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace underway::async {
namespace {

using namespace std::chrono_literals;

awaitable<int> answer() { co_return 42; }
awaitable<void> fail_with() {
  throw Error(Code::conflict, "no");
  co_return;
}

TEST(Loop, ReturnsTheResultOfATask) {
  Loop loop;
  EXPECT_EQ(loop.run_until_done(answer()), 42);
  EXPECT_EQ(loop.run_until_done(answer()), 42);
}

TEST(Loop, ThrowsTheFailureOfATask) {
  Loop loop;
  EXPECT_THROW(loop.run_until_done(fail_with()), Error);
}

TEST(Loop, RunsUntilStoppedFromAnotherThread) {
  Loop loop;
  bool ran = false;
  std::jthread other([&] {
    loop.post([&] {
      ran = true;
      loop.stop();
    });
  });
  loop.run();
  EXPECT_TRUE(ran);
}

TEST(Loop, RefusesToWaitForATaskThatNothingWillWake) {
  Loop loop;
  loop.stop();
  asio::steady_timer timer(loop.context());
  auto stop_then_wait = [](Loop& on, asio::steady_timer& forever) -> awaitable<void> {
    on.stop();
    forever.expires_at(kNever);
    co_await forever.async_wait(asio::use_awaitable);
  };
  EXPECT_THROW(loop.run_until_done(stop_then_wait(loop, timer)), Error);
}

awaitable<std::thread::id> thread_after_pool(Pool& pool, std::thread::id& worker) {
  auto job = [] { return std::this_thread::get_id(); };
  worker = co_await on_pool(pool, job);
  co_return std::this_thread::get_id();
}

TEST(OnPool, RunsElsewhereAndResumesOnTheLoop) {
  Loop loop;
  Pool pool(2);
  std::thread::id worker;
  EXPECT_EQ(loop.run_until_done(thread_after_pool(pool, worker)), std::this_thread::get_id());
  EXPECT_NE(worker, std::this_thread::get_id());
}

awaitable<void> failing_job(Pool& pool) {
  auto job = []() -> int { throw Error(Code::exhausted, "disk full"); };
  co_await on_pool(pool, job);
}

TEST(OnPool, HandsTheFailureOfTheJobToTheCaller) {
  Loop loop;
  Pool pool(1);
  try {
    loop.run_until_done(failing_job(pool));
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::exhausted);
  }
}

awaitable<int> many_jobs(Pool& pool) {
  int sum = 0;
  for (int i = 0; i < 1000; ++i) {
    auto job = [i] { return i; };
    sum += co_await on_pool(pool, job);
  }
  co_return sum;
}

TEST(OnPool, CarriesAThousandResultsBack) {
  Loop loop;
  Pool pool(2);
  EXPECT_EQ(loop.run_until_done(many_jobs(pool)), 499'500);
}

TEST(Within, PassesAResultThatComesInTime) {
  Loop loop;
  EXPECT_EQ(loop.run_until_done(within(1h, "answering", answer())), 42);
}

TEST(Within, PassesAFailureThatComesInTime) {
  Loop loop;
  try {
    loop.run_until_done(within(1h, "failing", fail_with()));
    FAIL() << "the failure was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::conflict);
  }
}

awaitable<void> note_end(bool& ended) {
  struct Note {
    bool& flag;
    ~Note() { flag = true; }
  } note{ended};
  co_await sleep_for(1h);
}

TEST(Within, CancelsWhatTakesTooLong) {
  Loop loop;
  bool ended = false;
  try {
    loop.run_until_done(within(5ms, "waiting for nothing", note_end(ended)));
    FAIL() << "no deadline";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::timeout);
    EXPECT_EQ(error.message(), "waiting for nothing took longer than 5ms");
  }
  EXPECT_TRUE(ended);
}

TEST(Within, HandsOnTheCancellationOfItsCaller) {
  Loop loop;
  bool ended = false;
  asio::cancellation_signal signal;
  std::exception_ptr seen;
  asio::co_spawn(loop.context(), within(1h, "waiting", note_end(ended)),
                 asio::bind_cancellation_slot(signal.slot(), [&](std::exception_ptr failure) { seen = failure; }));
  loop.post([&] { signal.emit(asio::cancellation_type::terminal); });
  loop.context().run();
  EXPECT_TRUE(ended);
  EXPECT_TRUE(is_cancellation(seen));
}

TEST(DeadlineIn, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(deadline_in(Duration::max()), kNever);
  EXPECT_GT(deadline_in(1h), std::chrono::steady_clock::now());
}

TEST(Cancellation, IsNotAnError) {
  EXPECT_FALSE(is_cancellation(nullptr));
  EXPECT_FALSE(is_cancellation(std::make_exception_ptr(Error(Code::timeout, "late"))));
  EXPECT_FALSE(is_cancellation(std::make_exception_ptr(Cancelled(asio::error::eof))));
  EXPECT_TRUE(is_cancellation(std::make_exception_ptr(Cancelled(asio::error::operation_aborted))));
}

}  // namespace
}  // namespace underway::async
