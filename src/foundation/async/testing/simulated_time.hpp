#pragma once
/// @file
/// A loop in simulated time: hours in milliseconds. It goes on only when nothing is left to do at the present instant,
/// so a run depends on nothing of the machine, as long as what blocks is faked: threads go by real time.

#include "async/loop_clock.hpp"

namespace underway::async {

/// While it lives, the timers of this thread's loops go by it. It is the wall clock as well.
class SimulatedTime final : public Clock {
 public:
  /// `more` does what is not the loop's, a commit of a stepped store; whether there was something.
  explicit SimulatedTime(
      Loop& loop, std::function<bool()> more = [] { return false; })
      : loop_(loop), more_(std::move(more)) {
    LoopClock::simulate(&time_);
  }
  ~SimulatedTime() override { LoopClock::simulate(nullptr); }
  SimulatedTime(const SimulatedTime&) = delete;
  SimulatedTime& operator=(const SimulatedTime&) = delete;

  TimePoint now() const override { return start_ + (time_.now - SteadyTime{}); }

  void run_for(Duration span) {
    run_until([] { return false; }, span);
  }
  /// Whether `condition()` came true within `limit`.
  template <class Condition>
  bool run_until(Condition condition, Duration limit) {
    const SteadyTime end = time_.now + limit;
    settle();
    while (!condition()) {
      if (time_.now >= end) return false;
      const auto next = time_.due.upper_bound(time_.now);
      time_.now = next == time_.due.end() ? end : std::min(*next, end);
      time_.due.erase(time_.due.begin(), time_.due.upper_bound(time_.now));
      settle();
    }
    return true;
  }

 private:
  /// Asio looks at its timers when the kernel's says so, which goes by real time: a new first one makes it look now.
  std::size_t run_due() {
    asio::basic_waitable_timer<LoopClock> first(loop_.context(), SteadyTime{});
    bool looked = false;
    first.async_wait([&looked](boost::system::error_code) { looked = true; });
    loop_.context().restart();
    std::size_t ran = 0;
    while (!looked) ran += loop_.context().poll();
    return ran + loop_.context().poll() - 1;
  }
  void settle() {
    while (run_due() > 0 || more_()) {
    }
  }

  Loop& loop_;
  std::function<bool()> more_;
  const TimePoint start_{std::chrono::seconds{1'700'000'000}};
  LoopClock::Simulation time_{SteadyTime{std::chrono::hours(1)}};  ///< not the beginning, which some take for "never"
};

}  // namespace underway::async
