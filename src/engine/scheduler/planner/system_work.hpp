#pragma once
/// @file
/// One group of a system job on its way through a plan.

#include "scheduler/planner/planner.hpp"

namespace underway::scheduler {

/// What a node has of the group.
struct Planner::OnNode {
  AllocationRow live;
  AllocationRow failed;   ///< the newest that failed and was not replaced
  AllocationRow gone;     ///< the newest that is not wanted any more
  bool finished = false;  ///< sysbatch: ran to its end, well or not
};

struct Planner::SystemWork {
  SystemWork(const model::Job& job, const model::TaskGroup& g, FleetIndex& fleet, Peers& peers, Ask ask,
             std::uint64_t seed, QuotaBook* quota)
      : group(g),
        policy(update_policy(job, g)),
        reschedule(reschedule_policy(job, g)),
        placer(fleet, peers, std::move(ask), seed, Placer::Use::visiting, quota) {}

  struct There {
    Slot slot;
    AllocationRow row;     ///< what failed or was stopped there, or null
    bool give_up = false;  ///< its version failed there: the stable one comes in its place
  };

  const model::TaskGroup& group;
  model::UpdatePolicy policy;
  model::ReschedulePolicy reschedule;
  Placer placer;
  model::AllocMetric metric;
  std::unordered_map<Slot, OnNode> here;
  std::map<const model::Job*, bool> in_place;  ///< by the version that runs: whether it can be updated where it is
  std::vector<AllocationRow> outdated;         ///< to be replaced, on nodes that are ready
  std::vector<There> failed_before;            ///< failed in an earlier version
  std::vector<There> held;                     ///< to come back as it was
  std::size_t created_begin = 0;
  bool first_of_version = true;
  bool failing = false;        ///< one of the deployment is not well
  std::int64_t in_flight = 0;  ///< of the deployment, not known to be well yet
  std::int64_t working = 0;    ///< on nodes that are ready
  std::int64_t desired = 0;    ///< on nodes that are ready
  Tally tally;
};

}  // namespace underway::scheduler
