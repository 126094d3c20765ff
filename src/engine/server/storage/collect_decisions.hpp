#pragma once
/// @file
/// Forgetting what is long over.

#include "server/decision.hpp"

namespace underway::server {

/// How long things are kept after their end. Source: Nomad's defaults (its agent configuration, *_gc_threshold).
struct Retention {
  Duration evaluations = std::chrono::hours(1);
  Duration jobs = std::chrono::hours(4);
  Duration nodes = std::chrono::hours(24);
  Duration tokens = std::chrono::hours(1);  ///< after they expired
  static Retention none() { return {Duration{0}, Duration{0}, Duration{0}, Duration{0}}; }
};
struct Collected {
  std::int64_t jobs = 0, evaluations = 0, allocations = 0, nodes = 0, tokens = 0;
};
/// Jobs that are stopped, or batch and finished; evaluations that ended, when all that they placed is over: ended and
/// stopped, replaced, or its job gone; nodes that are down; tokens that expired.
struct Collect {
  Retention keep = {};
};
Decision<Collected> decide(const Tables&, const Collect&, const Context&);

}  // namespace underway::server
