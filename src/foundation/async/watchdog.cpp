#include "async/watchdog.hpp"

#include <algorithm>

#include "base/allowance.hpp"
#include "base/log.hpp"
#include "base/text.hpp"

namespace underway::async {
namespace {

using std::chrono::steady_clock;

/// The thread's CPU time is a system call: it is read before the loop sleeps, and when so much time has passed.
constexpr Duration kLookEvery = std::chrono::milliseconds(5);
constexpr Duration kLogEvery = std::chrono::seconds(1);

/// What the running callback of this thread has told.
struct Told {
  std::string what;
  std::optional<SteadyTime> since;
};
thread_local Told told;

}  // namespace

void doing(std::string what) {
  told.what = std::move(what);
  if (!told.since) told.since = steady_clock::now();
}

asio::execution_context::id Watchdog::id;

Watchdog::Watchdog(asio::execution_context& context)
    : asio::execution_context::service(context), context_(static_cast<asio::io_context&>(context)) {}

Watchdog& Watchdog::of(const Executor& executor) {
  return asio::use_service<Watchdog>(asio::query(executor, asio::execution::context));
}

std::size_t Watchdog::run_one() {
  told.since.reset();
  told.what.clear();
  const SteadyTime begin = steady_clock::now();
  if (const std::size_t ran = context_.poll_one(); ran > 0) {
    judge(steady_clock::now() - begin);
    return ran;
  }
  // Nothing is ready. How long the loop sleeps now is not held against what wakes it: that is what the thread computes,
  // or the time since it told what it does.
  computed_before_ = thread_cpu_time();
  looked_at_ = steady_clock::now();
  const std::size_t ran = context_.run_one();
  const Duration computed = thread_cpu_time() - computed_before_;
  const Duration since_told = told.since ? steady_clock::now() - *told.since : Duration{0};
  judge(std::max(computed, since_told));
  return ran;
}

void Watchdog::judge(Duration took) {
  const bool held = took >= kLong;
  const SteadyTime now = steady_clock::now();
  if (!held && now - looked_at_ < kLookEvery) return;
  const Duration computed_now = thread_cpu_time();
  if (held) tell({took, std::min(took, computed_now - computed_before_), told.what});
  computed_before_ = computed_now;
  looked_at_ = now;
}

void Watchdog::tell(const Hold& hold) {
  ++holds_;
  longest_ = std::max(longest_, hold.took);
  if (on_hold_) on_hold_(hold);
  const SteadyTime now = steady_clock::now();
  if (logged_at_ && now - *logged_at_ < kLogEvery) {
    ++unlogged_;
    return;
  }
  const std::string others = unlogged_ > 0 ? fmt::format("; {} others since the last such line", unlogged_) : "";
  log::warn("loop: held for {}, {} of it computing, by {}{}", human_duration(hold.took), human_duration(hold.computed),
            hold.doing.empty() ? "what has not told" : hold.doing, others);
  logged_at_ = now;
  unlogged_ = 0;
}

}  // namespace underway::async
