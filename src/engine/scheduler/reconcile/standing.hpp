#pragma once
/// @file
/// What has become of a wanted allocation because of its node: whether it may stay, has to move, or cannot be counted
/// on. The node's state and the group's `disconnect` decide; what it runs does not matter here.

#include "scheduler/fleet/fleet_index.hpp"

namespace underway::scheduler {

enum class Standing {
  stands,    ///< nothing is wrong with its node
  migrates,  ///< a drain wants it elsewhere
  silenced,  ///< its node is not heard of from now on: it becomes unknown
  unknown,   ///< not heard of, and not given up
  returned,  ///< heard of again, and something had taken its place
  lost,      ///< gone with its node, or not heard of for too long
};

/// For an allocation that is neither terminal nor finished; `now` in ns since the epoch.
Standing standing_of(const model::Allocation& allocation, const FleetIndex& fleet, std::int64_t now);

/// When an unknown one (or one that becomes so at `now`) is given up: ns since the epoch; nothing: never.
std::optional<std::int64_t> given_up_at(const model::Allocation& allocation, std::int64_t now);

/// Whether a drain's time is up: it goes even if there is no place for it elsewhere.
bool has_to_go(const model::Allocation& allocation, const FleetIndex& fleet, std::int64_t now);

/// Whether of two of the same name the one that came back goes on, rather than what replaced it.
bool original_goes_on(const model::Allocation& original, const model::Allocation& replacement);

}  // namespace underway::scheduler
