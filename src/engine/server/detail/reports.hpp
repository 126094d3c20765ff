#pragma once
/// @file
/// What nodes report of their allocations. Whichever way a report comes in (while the link stands, or with a node that
/// presents itself after the server or the link was away), it is entered here, so that a verdict on an allocation's
/// health always counts for its rollout.

#include <functional>

#include "server/decision.hpp"

namespace underway::server::detail {

/// May change a reported row once more before it is written; `current` is the one that stands.
using Revise = std::function<void(const tables::Row<model::Allocation>& current, model::Allocation& row)>;

/// Enters the reports that the node makes of its own allocations: the rows, what they mean for rollouts, and
/// evaluations of jobs of which something ended too early. Returns whether something ended, which leaves room on the
/// node.
bool enter_reports(std::vector<Change>& changes, const Tables&, const std::string& node_id,
                   const std::vector<model::AllocationUpdate>& updates, const Context&, const Revise& revise = {});

}  // namespace underway::server::detail
