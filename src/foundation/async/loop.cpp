#include "async/loop.hpp"

#include <fmt/format.h>

#include "async/loop_clock.hpp"
#include "async/watchdog.hpp"

namespace underway::async {

bool is_cancellation(const std::exception_ptr& failure) {
  if (failure == nullptr) return false;
  try {
    std::rethrow_exception(failure);
  } catch (const Cancelled& cancelled) {
    return cancelled.code() == asio::error::operation_aborted;
  } catch (...) {
    return false;
  }
}

SteadyTime deadline_in(Duration span) {
  const SteadyTime now = LoopClock::now();
  return span > kNever - now ? kNever : now + std::chrono::duration_cast<SteadyTime::duration>(span);
}

void Loop::run() {
  const auto busy = asio::make_work_guard(context_);
  context_.restart();
  auto& watchdog = Watchdog::of(context_);
  while (watchdog.run_one() > 0) {
  }
}

awaitable<void> sleep_until(SteadyTime when) {
  Timer timer(co_await asio::this_coro::executor);
  timer.expires_at(when);
  co_await timer.async_wait(asio::use_awaitable);
}

awaitable<void> sleep_for(Duration span) { return sleep_until(deadline_in(span)); }

Error detail::took_too_long(const std::string& what, Duration limit) {
  return Error(Code::timeout, fmt::format("{} took longer than {}", what, human_duration(limit)));
}

}  // namespace underway::async
