#pragma once
/// @file
/// `depends_on`: whether an allocation may start. Pure; the sessions ask it whenever health changed.

#include "tables/tables.hpp"

namespace underway::server {

/// What the allocation waits for, in words ("'munge' on this node"); nothing when it may start. An allocation that has
/// started once is never held again.
std::optional<std::string> waiting_for(const tables::Tables&, const model::Allocation&);

/// Ids of the nodes that hold pending allocations of jobs that depend on `job_id`.
std::vector<std::string> nodes_waiting_for(const tables::Tables&, const std::string& ns, const std::string& job_id);

}  // namespace underway::server
