#pragma once
/// @file
/// A job in a list, and how many of its allocations are in which state: Nomad's JobListStub and JobSummary
/// (api/jobs.go).

#include "base/json/projection.hpp"
#include "model/job/job.hpp"

namespace underway::wire {

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

const describe::Structure& description(describe::Tag<GroupSummary>);
const describe::Structure& description(describe::Tag<ChildrenSummary>);
const describe::Projection<model::Job>& description(describe::Tag<JobSummary>);
const describe::Projection<model::Job>& description(describe::Tag<JobStub>);

}  // namespace underway::wire
