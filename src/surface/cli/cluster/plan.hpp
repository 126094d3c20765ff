#pragma once
/// @file
/// `plan` and `apply` show the same.

#include "api/cluster/cluster_body.hpp"

namespace underway::cli {

/// What applying would change, and where; data, to standard output.
void print_plan(const api::ClusterPlan& plan, const model::Cluster& cluster);

/// What does not run as it is declared: what, why, and the next step. Empty when all does.
std::string shortfall_text(const std::vector<api::Shortfall>& shortfall);

}  // namespace underway::cli
