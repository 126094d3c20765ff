#pragma once
/// @file
/// What timers and deadlines of a loop go by: the machine's monotonic clock, or in a simulation the time that that says
/// it is (testing/simulated_time.hpp). Deadlines are made with deadline_in() and compared with LoopClock::now().

#include <set>

#include "async/loop.hpp"

namespace underway::async {

struct LoopClock {
  using duration = SteadyTime::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = SteadyTime;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;

  /// What says how late it is, and is told when timers are due.
  struct Simulation {
    SteadyTime now;
    std::set<SteadyTime> due = {};
  };
  /// On this thread from here on; null: the machine says. It outlives its use.
  static void simulate(Simulation* simulation) noexcept;
  /// A timer was set.
  static void note(SteadyTime when);
};

class Timer : public asio::basic_waitable_timer<LoopClock> {
 public:
  using asio::basic_waitable_timer<LoopClock>::basic_waitable_timer;
  void expires_at(SteadyTime when) {
    LoopClock::note(when);
    asio::basic_waitable_timer<LoopClock>::expires_at(when);
  }
  void expires_after(SteadyTime::duration span) { expires_at(LoopClock::now() + span); }
};

}  // namespace underway::async
