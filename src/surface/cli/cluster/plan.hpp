#pragma once
/// @file
/// `plan` and `apply` show the same.

#include "wire/cluster/cluster.hpp"

namespace underway::cli {

/// What applying would change, and where; data, to standard output.
void print_plan(const wire::ClusterPlan& plan, const model::Cluster& cluster);

/// What does not run as it is declared: what, why, and the next step. Empty when all does.
std::string shortfall_text(const std::vector<wire::Shortfall>& shortfall);

}  // namespace underway::cli
