#pragma once
/// @file
/// What registering a job would do, and nothing of it done: for `job plan`.

#include "scheduler/schedule.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::server {

struct JobPlan {
  tables::Row<model::Job> current;  ///< null when the job does not exist, or is stopped
  model::Job proposed;
  scheduler::Plan plan;
  model::Revision job_modify_index = 0;  ///< to be enforced when it is run
};

/// Throws what registering would throw. `coming`: see RegisterJob.
JobPlan preview_job(const Tables& tables, scheduler::Fleet& fleet, model::Job job, const Context& context,
                    std::vector<model::Namespace> coming = {});

}  // namespace underway::server
