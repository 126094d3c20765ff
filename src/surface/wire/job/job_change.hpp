#pragma once
/// @file
/// What a plan does to a job.

#include "base/json/projection.hpp"
#include "model/allocation.hpp"
#include "model/capsule/protection.hpp"
#include "model/diff/diff.hpp"
#include "model/impact.hpp"

namespace underway::wire {

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
  model::Judgement impact;                     ///< what those who use it would notice
  std::vector<model::Prospect> prospects;      ///< how what is replaced is rolled out
  std::string warnings;                        ///< of its templates; as Nomad tells them
  std::vector<model::Protection> protections;  ///< of its capsules; a cluster's plan has those of all of its jobs
};

const describe::Structure& description(describe::Tag<DesiredUpdates>);
const describe::Projection<model::Allocation>& description(describe::Tag<Evicted>);
const describe::Structure& description(describe::Tag<Touched>);
const describe::Structure& description(describe::Tag<JobChange>);

}  // namespace underway::wire
