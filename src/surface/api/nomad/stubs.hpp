#pragma once
/// @file
/// The shapes that only the API has: list stubs and summaries, under Nomad's names (api/*.go: JobListStub,
/// AllocationListStub, NodeListStub, JobSummary).

#include "tables/tables.hpp"

namespace underway::api {

struct GroupSummary {
  std::int64_t queued = 0, complete = 0, failed = 0, running = 0, starting = 0, lost = 0, unknown = 0;
};

/// How many jobs a job has started, by their status.
struct ChildrenSummary {
  std::int64_t pending = 0, running = 0, dead = 0;
};

struct JobSummary {
  std::string job_id;
  std::string ns;
  std::map<std::string, GroupSummary> groups;
  ChildrenSummary children;
  model::Revision create_index = 0;
  model::Revision modify_index = 0;
};

struct JobStub {
  std::string id, parent_id, name, ns;
  std::vector<std::string> datacenters;
  model::JobType type = model::JobType::service;
  std::int64_t priority = 50;
  bool periodic = false, parameterized = false, stop = false;
  model::JobStatus status = model::JobStatus::pending;
  std::string status_description, node_pool, cluster;
  std::optional<model::StringMap> meta;  ///< with ?meta
  JobSummary summary;
  std::int64_t version = 0, submit_time = 0;
  model::Revision create_index = 0, modify_index = 0, job_modify_index = 0;
};

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

struct NodeStub {
  std::string id, name, datacenter, node_class, node_pool, address, version, host, cluster;
  bool drain = false;
  model::Eligibility eligibility = model::Eligibility::eligible;
  model::NodeStatus status = model::NodeStatus::initializing;
  std::string status_description;
  std::optional<model::DrainMetadata> last_drain;
  std::map<std::string, model::DriverInfo> drivers;
  model::StringMap attributes;                    ///< with ?os
  std::optional<model::NodeResources> resources;  ///< with ?resources
  std::optional<model::NodeResources> reserved;   ///< likewise
  model::Revision create_index = 0, modify_index = 0;
};

/// Of GET /v1/services.
struct ServiceStub {
  std::string name;
  std::vector<std::string> tags;
};
struct ServiceListStub {
  std::string ns;
  std::vector<ServiceStub> services;
};

JobSummary summarize(const tables::Tables& tables, const model::Job& job);
JobStub stub(const tables::Tables& tables, const model::Job& job);
AllocationStub stub(const tables::Tables& tables, const model::Allocation& allocation);
/// What it waits for before it may start, in words: those that it depends on, or a capsule's record; nothing when it
/// may.
std::optional<std::string> waiting_for(const tables::Tables& tables, const model::Allocation& allocation);
NodeStub stub(const model::Node& node, bool with_os, bool with_resources);

const describe::Structure& description(describe::Tag<GroupSummary>);
const describe::Structure& description(describe::Tag<ChildrenSummary>);
const describe::Structure& description(describe::Tag<JobSummary>);
const describe::Structure& description(describe::Tag<JobStub>);
const describe::Structure& description(describe::Tag<AllocationStub>);
const describe::Structure& description(describe::Tag<NodeStub>);
const describe::Structure& description(describe::Tag<ServiceStub>);
const describe::Structure& description(describe::Tag<ServiceListStub>);

}  // namespace underway::api
