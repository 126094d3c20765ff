#pragma once
/// @file
/// Structured coroutines: a TaskGroup owns every coroutine that a component starts; nothing is detached.

#include <string>

#include "async/loop.hpp"

namespace underway::async {

/// The coroutines of one component. Thread: one loop.
class TaskGroup {
 public:
  /// `name` begins the log line of a task that fails.
  TaskGroup(Executor executor, std::string name);
  /// Cancels what is left, without waiting; components call `stop` first.
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts `task`. A failure that escapes it is logged once ("<name>: <what>: <failure>"); cancellation is no failure.
  /// After `stop` nothing is started any more.
  void spawn(std::string what, awaitable<void> task);
  /// Cancels every task without waiting; one that has not begun never does. The group stays usable.
  void cancel();
  /// Cancels every task and waits until all have ended. Not to be called by a task of the group. A coroutine that was
  /// cancelled itself first says `co_await asio::this_coro::throw_if_cancelled(false)`; otherwise nothing is awaited.
  awaitable<void> stop();
  /// Waits until no task is left, without cancelling any.
  awaitable<void> wait();

  std::size_t size() const;
  const Executor& executor() const { return executor_; }

 private:
  struct State;
  Executor executor_;
  std::shared_ptr<State> state_;
};

}  // namespace underway::async
