#pragma once
/// @file
/// Rollouts that go on and do not move: why, and what helps.

#include "server/decision.hpp"
#include "server/guard.hpp"

namespace underway::server {

struct Standstill {
  Duration since{0};   ///< for so long nothing of it has changed
  std::string why;     ///< "node c3 is not heard of, and its new allocation was not found healthy before"
  std::string advice;  ///< a command
};

/// Why a running deployment waits for longer than what it waits for may take; nothing while it moves, or waits for a
/// person to promote it. `guard` may be null.
std::optional<Standstill> find_standstill(const Tables&, const model::Deployment&, TimePoint now, const Guard* guard);

}  // namespace underway::server
