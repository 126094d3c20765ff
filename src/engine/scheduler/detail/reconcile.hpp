#pragma once
/// @file
/// What should run against what runs, for one group of a service or batch job: which allocations stay, stop, are
/// updated or replaced, and which are missing. Where they go is decided later.

#include "scheduler/detail/fleet_index.hpp"

namespace underway::scheduler::detail {

using AllocationRow = tables::Row<model::Allocation>;

// Nomad's words (scheduler/reconciler): clients and people match on them.
inline constexpr const char* kNotNeeded = "alloc not needed due to job update";
inline constexpr const char* kUpdating = "alloc is being updated due to job update";
inline constexpr const char* kLost = "alloc was lost since its node is down";
inline constexpr const char* kRescheduled = "alloc was rescheduled because it failed";
inline constexpr const char* kNodeTainted = "alloc not needed as node is tainted";

struct Stop {
  AllocationRow allocation;
  const char* description = kNotNeeded;
  bool lost = false;
};

/// An allocation that is missing.
struct Missing {
  std::int64_t index = 0;
  AllocationRow previous;        ///< which it takes the place of; null: none
  bool previous_failed = false;  ///< then `previous` stops when the place is taken, and its node is avoided
};

struct GroupPlan {
  std::vector<AllocationRow> keep;      ///< live, of this job version
  std::vector<AllocationRow> outdated;  ///< live, of another version: to be updated in place or replaced
  std::vector<Stop> stops;
  std::vector<Missing> missing;
  std::int64_t ignore = 0;        ///< finished or waiting: left as they are
  std::int64_t next_attempt = 0;  ///< when the first failed one may be replaced, ns; 0: none waits
};

/// When a failed allocation may be replaced: ns since the epoch, or nothing when it never is. `by_id` finds its
/// predecessors. Policy: Nomad's defaults of `reschedule`: service (and, as here nobody else would, system) 30 s,
/// doubling up to 1 h, without end; batch once in 24 h after 5 s.
std::optional<std::int64_t> replacement_time(
    const model::Allocation& failed, model::JobType type,
    const std::unordered_map<std::string_view, const model::Allocation*>& by_id);

/// Whether the node that the allocation is on cannot be counted on any more: gone or down. A disconnected node keeps
/// what it runs.
bool node_lost(const FleetIndex& fleet, const model::Allocation& allocation);

/// A terminal allocation of an earlier version (or of a job of the same name that was purged): history.
bool of_earlier_job(const model::Allocation& allocation, const model::Job& job);

GroupPlan reconcile_group(const model::Job& job, const model::TaskGroup& group,
                          const std::vector<AllocationRow>& allocations, const FleetIndex& fleet,
                          const std::unordered_map<std::string_view, const model::Allocation*>& by_id,
                          std::int64_t now_with_slack);

}  // namespace underway::scheduler::detail
