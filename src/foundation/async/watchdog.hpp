#pragma once
/// @file
/// Who holds the loop. One thread answers everybody, so what runs on it for long keeps everybody waiting: a node's link
/// drops, SIGTERM is not heard. The watchdog measures each callback, counts and logs those that took too long, and says
/// what they were doing where that was told. It has no timer and no thread: an idle loop is not woken by it.

#include <functional>
#include <optional>
#include <string>

#include "async/loop.hpp"

namespace underway::async {

/// One callback that held the loop for long.
struct Hold {
  /// By the clock. Of the first callback after a sleep whose begin nobody told (`doing`) it is what it computed.
  Duration took{};
  /// CPU time of the loop's thread: on a busy machine less than `took`.
  Duration computed{};
  std::string doing;  ///< empty: unknown
};

/// Says what the running callback does from here on, until it returns: "GET /v1/jobs". Thread: a loop's.
void doing(std::string what);

/// Of one loop. Thread: the loop's.
class Watchdog : public asio::execution_context::service {
 public:
  using key_type = Watchdog;
  static asio::execution_context::id id;
  /// From here on a callback is logged and counted.
  static constexpr Duration kLong = std::chrono::milliseconds(50);

  explicit Watchdog(asio::execution_context& context);
  /// The one of this loop, which comes into being when it is asked for.
  static Watchdog& of(asio::io_context& context) { return asio::use_service<Watchdog>(context); }
  static Watchdog& of(const Executor& executor);

  /// As io_context::run_one, measured.
  std::size_t run_one();

  /// Called after each callback that held the loop for `kLong` or more; for tests, which fail at 200 ms.
  void on_hold(std::function<void(const Hold&)> callback) { on_hold_ = std::move(callback); }
  /// Since the loop was made.
  std::uint64_t holds() const { return holds_; }
  Duration longest() const { return longest_; }

 private:
  void shutdown() override {}
  void judge(Duration took);
  void tell(const Hold& hold);

  asio::io_context& context_;
  Duration computed_before_{};  ///< the thread's CPU time when it was last looked at
  SteadyTime looked_at_{};      ///< and when that was
  std::uint64_t holds_ = 0;
  Duration longest_{};
  std::uint64_t unlogged_ = 0;
  std::optional<SteadyTime> logged_at_;
  std::function<void(const Hold&)> on_hold_;
};

/// Loop::run_until_done, watched.
template <class T>
T run_watched(Loop& loop, awaitable<T> task) {
  detail::Outcome<T> outcome;
  asio::co_spawn(loop.context(), std::move(task), detail::store_in(outcome));
  loop.context().restart();
  auto& watchdog = Watchdog::of(loop.context());
  while (!outcome.ready() && !loop.context().stopped()) watchdog.run_one();
  if (!outcome.ready()) throw Error(Code::internal, "the loop ran out of work before the task was finished");
  return outcome.take();
}

}  // namespace underway::async
