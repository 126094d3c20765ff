#pragma once
/// @file
/// One group of a service or batch job on its way through a plan.

#include "scheduler/planner/planner.hpp"

namespace underway::scheduler {

struct Planner::GroupWork {
  const model::TaskGroup* group = nullptr;
  model::UpdatePolicy policy;
  bool first_of_version = false;  ///< no allocation was ever placed for this version of the job
  GroupPlan plan;
  GroupPlan canaries;  ///< of those that are not promoted; they do not count among the others
  std::vector<AllocationRow> in_place;
  std::vector<AllocationRow> destructive;
  std::vector<Slot> left;  ///< where machines of it still are that go on elsewhere: they may yet have to stay
  std::size_t created_begin = 0, created_end = 0;  ///< what was created for it, in Plan::created

  bool idle() const {
    return plan.outdated.empty() && plan.missing.empty() && plan.migrating.empty() && plan.waiting.empty() &&
           plan.ended.empty() && canaries.missing.empty() && canaries.migrating.empty();
  }
};

}  // namespace underway::scheduler
