#include "async/event.hpp"

#include <boost/asio/redirect_error.hpp>

#include "async/loop_clock.hpp"

namespace underway::async {

/// Lives in the frame of its coroutine and is linked only while that waits.
struct Event::Waiter {
  Waiter(Event& event, const Executor& executor) : owner(event), timer(executor) {
    before = owner.last_;
    (before != nullptr ? before->after : owner.first_) = this;
    owner.last_ = this;
    ++owner.waiting_;
  }
  ~Waiter() { unlink(); }
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  void unlink() {
    if (!linked) return;
    (before != nullptr ? before->after : owner.first_) = after;
    (after != nullptr ? after->before : owner.last_) = before;
    --owner.waiting_;
    linked = false;
  }

  Event& owner;
  Timer timer;
  Waiter* before = nullptr;
  Waiter* after = nullptr;
  bool linked = true;
  bool notified = false;
};

void Event::notify_all() {
  while (first_ != nullptr) {
    Waiter& waiter = *first_;
    waiter.unlink();
    waiter.notified = true;
    waiter.timer.cancel();
  }
}

awaitable<bool> Event::wait_until(SteadyTime deadline) {
  Waiter waiter(*this, co_await asio::this_coro::executor);
  waiter.timer.expires_at(deadline);
  boost::system::error_code ended;
  co_await waiter.timer.async_wait(asio::redirect_error(asio::use_awaitable, ended));
  // Told first, cancelled second: who was notified has waited enough, so a coroutine that cleans up after its own
  // cancellation can still wait here.
  if (!waiter.notified && ended) throw Cancelled(asio::error::operation_aborted);
  co_return waiter.notified;
}

awaitable<void> Event::wait() { co_await wait_until(kNever); }

}  // namespace underway::async
