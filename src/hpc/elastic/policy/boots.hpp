#pragma once
/// @file
/// How fast a class may be asked for nodes, and when it is left alone: a token bucket whose rate halves on errors and
/// creeps back (AIMD), a pause that doubles with each refusal, and a circuit breaker for nodes that do not come up.

#include "elastic/tick.hpp"

namespace underway::elastic {

/// Time has passed: tokens come back, old failures do not count any more, an open breaker opens half-way.
void pass_time(ClassState& state, const Policy& policy, TimePoint now);
/// What became of a boot.
/// - up: the provider answers; the rate recovers by a twentieth, a half-open breaker closes.
/// - refused, over_quota: back-off, doubling.
/// - control_plane: the rate halves, down to a sixteenth, and no token is left.
/// - failed, and lost within min_uptime: one more failure; as many as the policy says open the breaker, and so does one
///   while it is half-open. A boot loop (up, lost, up, lost) therefore opens it.
void settle(ClassState& state, const Policy& policy, const BootOutcome& outcome, TimePoint now);
/// How many nodes may be asked for now, whatever the demand.
std::int64_t boots_allowed(const ClassState& state, TimePoint now);
bool backing_off(const ClassState& state, TimePoint now);

}  // namespace underway::elastic
