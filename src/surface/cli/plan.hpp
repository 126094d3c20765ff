#pragma once
/// @file
/// `plan` and `apply` show the same.

#include "api/cluster_body.hpp"

namespace underway::cli {

/// What applying would change, and where; data, to standard output.
void print_plan(const api::ClusterPlan& plan, const model::Cluster& cluster);

}  // namespace underway::cli
