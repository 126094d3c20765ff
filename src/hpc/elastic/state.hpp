#pragma once
/// @file
/// What the policy remembers from tick to tick. It goes in, and comes out changed: the daemon keeps it as a record, the
/// simulator in memory. Times are nanoseconds since the epoch; 0 is never.

#include "base/json/describe.hpp"

#include <map>
#include <string>
#include <vector>

namespace underway::elastic {

enum class BreakerState : std::uint8_t {
  closed,     ///< boots are asked for
  open,       ///< none is, until the cooldown has passed
  half_open,  ///< one is, and decides
};

/// Of one class.
struct ClassState {
  std::int64_t running = 0, booting = 0, asleep = 0;  ///< as of the last tick
  std::int64_t failed_boots = 0;                      ///< ever
  std::vector<std::int64_t> failures;                 ///< when, within the breaker's window
  BreakerState breaker = BreakerState::closed;
  std::int64_t opened_at = 0;
  double tokens = -1;  ///< of the bucket; negative: it is full
  double rate = 0;     ///< boots per second after what went wrong; 0: the policy's
  std::int64_t filled_at = 0;
  std::int64_t refusals = 0;  ///< in a row
  std::int64_t backoff_until = 0;
};

/// A Slurm job of several nodes for which some are being made: all of them in time, or none is kept.
struct Gang {
  std::string label;  ///< what its nodes are marked with, never used twice: "4711/3"
  std::string job;
  std::string class_name;
  std::int64_t nodes = 0;  ///< that are made for it; those that were idle already are not counted
  bool forming = true;     ///< false: it was given up, and waits until `not_before`
  std::int64_t deadline = 0;
  std::int64_t attempts = 0;  ///< that were given up
  std::int64_t not_before = 0;
};

struct State {
  std::map<std::string, ClassState> classes;
  std::vector<Gang> gangs;                     ///< by the time at which they were begun
  std::map<std::string, std::int64_t> redone;  ///< by Slurm job: how often its node was taken back under it
  std::vector<std::string> timed_out;          ///< nodes whose boot was given up, until they are gone
  std::int64_t gangs_begun = 0;                ///< ever: the next one's number
  std::int64_t last_tick = 0;
  /// The last step of the clock: nodes that began something before `stepped_at` did so `stepped_by` later than they
  /// say.
  std::int64_t stepped_at = 0, stepped_by = 0;
};

const describe::Enumeration& description(describe::Tag<BreakerState>);
const describe::Structure& description(describe::Tag<ClassState>);
const describe::Structure& description(describe::Tag<Gang>);
const describe::Structure& description(describe::Tag<State>);

}  // namespace underway::elastic
