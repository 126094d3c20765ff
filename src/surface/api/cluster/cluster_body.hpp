#pragma once
/// @file
/// What `underway plan`, `apply` and `up` send: a cluster with all of its jobs; and what a plan of it answers.

#include "api/file/sync_body.hpp"
#include "api/job/shortfall.hpp"
#include "impact/impact.hpp"
#include "impact/prospect.hpp"
#include "model/diff/diff.hpp"
#include "saving/protection.hpp"
#include "server/server.hpp"

namespace underway::api {

struct JobWithSource {
  model::Job job;
  std::optional<model::JobSubmission> submission;
};

struct ClusterBody {
  model::Cluster cluster;
  std::vector<JobWithSource> jobs;
  std::vector<model::Namespace> namespaces;  ///< what its directory says of them
  std::vector<FileBody> files;               ///< all that its directory declares
};

/// Nomad's DesiredUpdates (structs.go), and ours below.
struct DesiredUpdates {
  std::int64_t ignore = 0, place = 0, migrate = 0, stop = 0, in_place = 0, destructive = 0, canary = 0, preemptions = 0;
};

/// How a change touches one allocation that runs: "and where".
struct Touched {
  std::string name;  ///< job.group[index]
  std::string node;
  std::string what;                      ///< place, stop, update in place, replace
  std::vector<model::NodeScore> scores;  ///< of the node on which it would be placed
};

/// An allocation of another job that makes way; the names are those of Nomad's list of allocations.
struct Evicted {
  std::string id, name, ns, job_id, group, node_id, node;
};

struct JobChange {
  std::string id;
  model::JobDiff diff;
  std::map<std::string, DesiredUpdates> updates;  ///< by group
  std::vector<Touched> touched;
  std::vector<Evicted> evicted;
  std::map<std::string, model::AllocMetric> failed;
  model::Revision job_modify_index = 0;
  impact::Judgement impact;                     ///< what those who use it would notice
  std::vector<impact::Prospect> prospects;      ///< how what is replaced is rolled out
  std::string warnings;                         ///< of its templates; as Nomad tells them
  std::vector<saving::Protection> protections;  ///< of its capsules; a cluster's plan has those of all of its jobs
};

struct ClusterPlan {
  model::ClusterDiff cluster;
  std::vector<JobChange> jobs;          ///< those that change
  std::vector<std::string> unchanged;   ///< ids
  std::vector<std::string> stopped;     ///< ids of jobs that the directory does not declare any more
  std::vector<std::string> namespaces;  ///< what changes of them, in words
  std::vector<std::string> files;       ///< likewise
  bool changes = false;
  impact::Judgement impact;           ///< what those who use the cluster would notice
  std::vector<Shortfall> shortfalls;  ///< what does not run as it is declared, or failed when it was declared before
  std::vector<saving::Protection> protections;  ///< of every capsule that is declared, whether it changes or not

  /// Whether what runs needs somebody, although nothing may be left to be declared.
  bool needs_you() const;
};

/// What the scheduler would do for `plan`, told per group and per allocation.
JobChange describe_plan(const server::JobPlan& plan);
/// How what it replaces would be rolled out. `tables`: before it.
std::vector<impact::Prospect> prospects_of(const tables::Tables& tables, const server::JobPlan& plan);

const describe::Structure& description(describe::Tag<JobWithSource>);
const describe::Structure& description(describe::Tag<ClusterBody>);
const describe::Structure& description(describe::Tag<DesiredUpdates>);
const describe::Structure& description(describe::Tag<Evicted>);
const describe::Structure& description(describe::Tag<Touched>);
const describe::Structure& description(describe::Tag<JobChange>);
const describe::Structure& description(describe::Tag<ClusterPlan>);

}  // namespace underway::api
