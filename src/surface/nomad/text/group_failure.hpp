#pragma once
/// @file
/// What could not be placed, and why, as Nomad's client says it.

#include <string>
#include <vector>

#include "cli/wire.hpp"

namespace underway::nomad {

using cli::Json;

/// What an evaluation could not place of one group, and why.
struct GroupFailure {
  std::string group;
  std::int64_t failed = 0;
  std::vector<std::string> lines;  ///< "* Resources exhausted on 2 nodes"

  /// `Task Group "g" (failed to place 2 allocations):`
  std::string title() const;
  /// The lines, each behind `prefix`.
  std::string reasons(std::string_view prefix) const;
};
/// Of an evaluation's or a plan's FailedTGAllocs, by group; none when it is null.
std::vector<GroupFailure> failures_of(const Json& failed_groups);

}  // namespace underway::nomad
