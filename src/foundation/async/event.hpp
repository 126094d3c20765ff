#pragma once
/// @file
/// Waiting for "something changed". An Event holds no state: check the state, then wait, then check again; on one loop
/// thread nothing can happen between the check and the wait.

#include "async/loop.hpp"

namespace underway::async {

/// Wakes all who wait at the moment of `notify_all`. Thread: one loop. Must outlive its waiters.
class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  /// Resumes every present waiter, in the order of their coming, after the caller has returned to the loop.
  void notify_all();
  /// True when notified, false when `deadline` came first.
  awaitable<bool> wait_until(SteadyTime deadline);
  awaitable<bool> wait_for(Duration span) { return wait_until(deadline_in(span)); }
  awaitable<void> wait();
  std::size_t waiters() const { return waiting_; }

 private:
  struct Waiter;
  Waiter* first_ = nullptr;
  Waiter* last_ = nullptr;
  std::size_t waiting_ = 0;
};

}  // namespace underway::async
