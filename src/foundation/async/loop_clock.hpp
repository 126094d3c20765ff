#pragma once
/// @file
/// What timers and deadlines of a loop go by: the machine's monotonic clock, or in a simulation the time that that says
/// it is (testing/simulated_time.hpp). Deadlines are made with deadline_in() and compared with LoopClock::now().

#include "async/loop.hpp"

namespace underway::async {

struct LoopClock {
  using duration = SteadyTime::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = SteadyTime;
  static constexpr bool is_steady = true;
  static time_point now() noexcept;

  /// On this thread it is `*now` from here on; null: what the machine says. It outlives its use.
  static void simulate(const SteadyTime* now) noexcept;
};

using Timer = asio::basic_waitable_timer<LoopClock>;

}  // namespace underway::async
