#pragma once
/// @file
/// The loop that a daemon's edges run on, and the pool for what may block. One loop, one thread: whatever is reached
/// only from coroutines of one loop needs no lock. What may block goes through `on_pool`.
///
/// Cancellation: a cancelled coroutine sees `Cancelled` thrown by the operation that it waits for. `Cancelled` is no
/// Error, so `catch (const Error&)` never swallows a shutdown.

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace underway {
namespace asio = boost::asio;
}

namespace underway::async {

using asio::awaitable;
using Executor = asio::any_io_executor;
using SteadyTime = std::chrono::steady_clock::time_point;

/// What a cancelled wait throws: a system_error whose code is operation_aborted.
using Cancelled = boost::system::system_error;

/// Whether `failure` is the end of a cancelled coroutine, not a fault.
bool is_cancellation(const std::exception_ptr& failure);

/// The steady instant `span` from now; huge spans stand for "never".
SteadyTime deadline_in(Duration span);
/// A deadline that never comes.
inline constexpr SteadyTime kNever = SteadyTime::max();

/// Owns the event loop. Construct and destroy on one thread, which also calls `run`.
class Loop {
 public:
  Loop() : context_(1) {}

  asio::io_context& context() { return context_; }
  Executor executor() { return context_.get_executor(); }

  /// Serves until `stop`. An exception that escapes a callback escapes here.
  void run();
  /// Makes `run` return soon. Thread: any.
  void stop() { context_.stop(); }
  /// Runs `callback` on the loop's thread. Thread: any.
  void post(std::function<void()> callback) { asio::post(context_, std::move(callback)); }

  /// Runs the loop until `task` is finished, and returns its result or throws its failure: for `main`, for plain
  /// synchronous programs and for tests. Other coroutines of the loop proceed meanwhile.
  template <class T>
  T run_until_done(awaitable<T> task);

 private:
  asio::io_context context_;
};

/// A bounded number of threads for what may block. The destructor waits for the jobs that were accepted. No job
/// may be under way when the loop is destroyed.
class Pool {
 public:
  explicit Pool(std::size_t threads) : pool_(threads) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool() { pool_.join(); }

  asio::thread_pool::executor_type executor() { return pool_.get_executor(); }

 private:
  asio::thread_pool pool_;
};

/// Runs `job()` on the pool and resumes on the caller's loop with its result or failure. A cancelled caller still
/// waits for a job that has started, so the job may refer to the caller's locals. `job` must be a named object.
template <class Job>
awaitable<std::invoke_result_t<Job&>> on_pool(Pool& pool, Job& job);
template <class Job>
void on_pool(Pool& pool, const Job&& job) = delete;

awaitable<void> sleep_until(SteadyTime when);
awaitable<void> sleep_for(Duration span);

/// The result of `task` if it ends within `limit`; otherwise `task` is cancelled, waited for, and Error(timeout)
/// "<what> took longer than <limit>" is thrown.
template <class T>
awaitable<T> within(Duration limit, std::string what, awaitable<T> task);

// ---------------------------------------------------------------------------------------------------------------------

namespace detail {

/// The result of something that returns T or throws; T may be void.
template <class T>
class Outcome {
 public:
  template <class F>
  void run(F& job) {
    try {
      if constexpr (std::is_void_v<T>) {
        job();
        value_.emplace();
      } else {
        value_.emplace(job());
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  void fail(std::exception_ptr failure) { failure_ = std::move(failure); }
  template <class... Value>
  void set(Value&&... value) {
    value_.emplace(std::forward<Value>(value)...);
  }
  bool failed() const { return failure_ != nullptr; }
  bool ready() const { return failure_ != nullptr || value_.has_value(); }
  T take() {
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    if constexpr (!std::is_void_v<T>) return std::move(*value_);
  }

 private:
  std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value_;
  std::exception_ptr failure_;
};

template <class T>
auto store_in(Outcome<T>& outcome) {
  if constexpr (std::is_void_v<T>) {
    return [&outcome](std::exception_ptr failure) {
      if (failure)
        outcome.fail(std::move(failure));
      else
        outcome.set();
    };
  } else {
    return [&outcome](std::exception_ptr failure, T value) {
      if (failure)
        outcome.fail(std::move(failure));
      else
        outcome.set(std::move(value));
    };
  }
}

Error took_too_long(const std::string& what, Duration limit);

}  // namespace detail

template <class T>
T Loop::run_until_done(awaitable<T> task) {
  detail::Outcome<T> outcome;
  asio::co_spawn(context_, std::move(task), detail::store_in(outcome));
  context_.restart();
  while (!outcome.ready() && !context_.stopped()) context_.run_one();
  if (!outcome.ready()) throw Error(Code::internal, "the loop ran out of work before the task was finished");
  return outcome.take();
}

template <class Job>
awaitable<std::invoke_result_t<Job&>> on_pool(Pool& pool, Job& job) {
  detail::Outcome<std::invoke_result_t<Job&>> outcome;
  auto initiate = [&pool, &job, &outcome](auto handler) {
    auto home = asio::get_associated_executor(handler);
    auto busy = asio::make_work_guard(home);
    asio::post(pool.executor(), [&job, &outcome, home, busy = std::move(busy), handler = std::move(handler)]() mutable {
      outcome.run(job);
      // The guard goes home too: this thread must not touch the loop after the caller may have ended it.
      asio::post(home, [busy = std::move(busy), handler = std::move(handler)]() mutable { std::move(handler)(); });
    });
  };
  co_await asio::async_initiate<const asio::use_awaitable_t<>, void()>(initiate, asio::use_awaitable);
  co_return outcome.take();
}

template <class T>
awaitable<T> within(Duration limit, std::string what, awaitable<T> task) {
  const Executor executor = co_await asio::this_coro::executor;
  asio::cancellation_state caller = co_await asio::this_coro::cancellation_state;
  // Shared with the timer's callback, which may run after this frame is gone.
  struct Stop {
    asio::cancellation_signal signal;
    bool expired = false;
  };
  const auto stop = std::make_shared<Stop>();
  asio::steady_timer timer(executor);
  timer.expires_at(deadline_in(limit));
  timer.async_wait([stop](boost::system::error_code failed) {
    if (failed) return;
    stop->expired = true;
    stop->signal.emit(asio::cancellation_type::terminal);
  });
  // The task has a slot of its own, so the caller's cancellation is handed on by hand.
  asio::cancellation_slot slot = caller.slot();
  if (slot.is_connected()) slot.assign([stop](asio::cancellation_type type) { stop->signal.emit(type); });
  detail::Outcome<T> outcome;
  auto slotted = asio::bind_cancellation_slot(stop->signal.slot(), asio::use_awaitable);
  try {
    if constexpr (std::is_void_v<T>) {
      co_await asio::co_spawn(executor, std::move(task), slotted);
      outcome.set();
    } else {
      outcome.set(co_await asio::co_spawn(executor, std::move(task), slotted));
    }
  } catch (...) {
    outcome.fail(std::current_exception());
  }
  if (slot.is_connected()) slot.clear();
  if (stop->expired && outcome.failed()) throw detail::took_too_long(what, limit);
  co_return outcome.take();
}

}  // namespace underway::async
