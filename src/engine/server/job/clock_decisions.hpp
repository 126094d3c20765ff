#pragma once
/// @file
/// What is to happen at a time stands in the tables, by the server's clock. When that clock is set, a deadline would
/// come a day early or a day late: what was unknown for a minute would be given up, what waits for its turn would wait
/// on. So everything that is measured from now on is moved along with the clock.

#include "server/decision.hpp"

namespace underway::server {

/// The clock was set by `by`. Moved are: delayed evaluations, with the ends of the allocations that they are to
/// replace; since when allocations are unknown; deadlines of drains and of deployments; leases of variables. Times of
/// day are not: periodic jobs, and when tokens and certificates end.
struct FollowClock {
  Duration by = Duration{0};
};
Decision<Nothing> decide(const Tables&, const FollowClock&, const Context&);

/// Tells that a clock was set from its difference to one that nobody can set.
class ClockWatch {
 public:
  /// Looked at often: what two clocks drift apart in between is no jump. Zero until it is one.
  Duration look(TimePoint now, std::chrono::steady_clock::time_point steady);

 private:
  std::optional<Duration> offset_;
};

}  // namespace underway::server
