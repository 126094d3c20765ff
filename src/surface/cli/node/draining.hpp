#pragma once
/// @file
/// What commands that empty nodes have in common: which nodes, what will be noticed of it, and how far it is.

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "sdk/client.hpp"

namespace underway::cli {

struct DrainTarget {
  std::string id, name;
};

/// The nodes that were named, and those of `pool`, `class` and `rack`, and of `self`, as far as the command has these
/// flags. Errors: invalid (none), not_found.
std::vector<DrainTarget> drain_targets(sdk::Client& client, const Arguments& arguments);
/// What those who use the cluster will notice, in one line.
std::string drain_impact(sdk::Client& client, const std::vector<DrainTarget>& targets,
                         const model::DrainStrategy& drain);
/// Errors: conflict (the answer was no).
void ask_to_drain(const std::vector<DrainTarget>& targets, bool enable);
/// Prints what happens, until all drains are over; then their exit code.
int monitor_drains(sdk::Client& client, const std::vector<DrainTarget>& targets);

}  // namespace underway::cli
