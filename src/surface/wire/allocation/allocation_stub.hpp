#pragma once
/// @file
/// An allocation in a list: Nomad's AllocationListStub (api/allocations.go).

#include "base/json/projection.hpp"
#include "model/allocation.hpp"

namespace underway::wire {

struct AllocationStub {
  std::string id, eval_id, name, ns, node_id, node_name, job_id;
  model::JobType job_type = model::JobType::service;
  std::int64_t job_version = 0;
  std::string group;
  model::DesiredStatus desired_status = model::DesiredStatus::run;
  std::string desired_description;
  model::ClientStatus client_status = model::ClientStatus::pending;
  std::string client_description;
  std::optional<std::map<std::string, model::TaskState>> task_states;  ///< not with ?task_states=false
  std::optional<model::AllocatedResources> resources;                  ///< with ?resources
  model::AllocHealth health;
  std::string waiting_for;  ///< ours: the dependency that it waits for
  model::DesiredTransition transition;
  std::string follow_up_eval, next_allocation, preempted_by;
  std::vector<std::string> preempted;
  std::vector<model::RescheduleEvent> reschedules;
  model::Revision create_index = 0, modify_index = 0;
  std::int64_t create_time = 0, modify_time = 0;
};

const describe::Projection<model::Allocation>& description(describe::Tag<AllocationStub>);

}  // namespace underway::wire
