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
    LoopClock::simulate(&now_);
  }
  ~SimulatedTime() override { LoopClock::simulate(nullptr); }
  SimulatedTime(const SimulatedTime&) = delete;
  SimulatedTime& operator=(const SimulatedTime&) = delete;

  TimePoint now() const override { return start_ + (now_ - SteadyTime{}); }

  void run_for(Duration span) {
    run_until([] { return false; }, span);
  }
  /// Whether `condition()` came true within `limit`.
  template <class Condition>
  bool run_until(Condition condition, Duration limit) {
    const SteadyTime end = now_ + limit;
    settle();
    while (!condition()) {
      if (now_ >= end) return false;
      now_ += kStep;
      settle();
    }
    return true;
  }

 private:
  static constexpr Duration kStep = std::chrono::milliseconds(5);
  void settle() {
    loop_.context().restart();
    while (loop_.context().poll() > 0 || more_()) {
    }
  }

  Loop& loop_;
  std::function<bool()> more_;
  const TimePoint start_{std::chrono::seconds{1'700'000'000}};
  SteadyTime now_{std::chrono::hours(1)};  ///< not the beginning, which some take for "never"
};

}  // namespace underway::async
