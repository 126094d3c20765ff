#pragma once
/// @file
/// Jobs with all that a page of them shows: Nomad's "jobs/statuses" (structs/job.go: JobStatusesJob and its parts).

#include "base/json/projection.hpp"
#include "model/allocation.hpp"
#include "model/deployment.hpp"

namespace underway::wire {

/// Which job: of the body of the request.
struct NamespacedId {
  std::string id;
  std::string ns;
  auto operator<=>(const NamespacedId&) const = default;
};
struct JobStatusesBody {
  std::vector<NamespacedId> jobs;  ///< none: all
  bool include_children = false;
};

struct AllocationHealth {
  bool canary = false;
  std::optional<bool> healthy;
};

struct JobStatusAllocation {
  std::string id, group;
  model::ClientStatus client_status = model::ClientStatus::pending;
  std::string node_id;
  AllocationHealth health;
  std::int64_t job_version = 0;
  std::string follow_up_eval;
  bool has_paused_task = false;
};

struct JobStatusDeployment {
  std::string id;
  bool active = false;
  std::int64_t job_version = 0;
  model::DeploymentStatus status = model::DeploymentStatus::running;
  std::string status_description;
  bool all_auto_promote = false, requires_promotion = false;
};

struct JobStatusEntry {
  std::string id, ns, name;
  model::JobType type = model::JobType::service;
  std::string node_pool;
  std::vector<std::string> datacenters;
  std::int64_t priority = 50, version = 0, submit_time = 0;
  model::JobStatus status = model::JobStatus::pending;
  bool stop = false;
  std::string parent_id;
  std::vector<std::string> child_statuses;
  std::int64_t group_count_sum = 0;
  std::vector<JobStatusAllocation> allocations;
  std::optional<JobStatusDeployment> latest_deployment;
  model::Revision create_index = 0, modify_index = 0;
};

const describe::Structure& description(describe::Tag<NamespacedId>);
const describe::Structure& description(describe::Tag<JobStatusesBody>);
const describe::Structure& description(describe::Tag<AllocationHealth>);
const describe::Projection<model::Allocation>& description(describe::Tag<JobStatusAllocation>);
const describe::Projection<model::Deployment>& description(describe::Tag<JobStatusDeployment>);
const describe::Projection<model::Job>& description(describe::Tag<JobStatusEntry>);

}  // namespace underway::wire
