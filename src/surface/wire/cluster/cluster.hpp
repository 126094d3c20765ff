#pragma once
/// @file
/// What `underway plan`, `apply` and `up` send: a cluster with all of its jobs; and what a plan of it answers.

#include "model/access/namespace.hpp"
#include "model/cluster.hpp"
#include "wire/file/file.hpp"
#include "wire/job/job_change.hpp"
#include "wire/job/shortfall.hpp"

namespace underway::wire {

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

struct ClusterPlan {
  model::ClusterDiff cluster;
  std::vector<JobChange> jobs;          ///< those that change
  std::vector<std::string> unchanged;   ///< ids
  std::vector<std::string> stopped;     ///< ids of jobs that the directory does not declare any more
  std::vector<std::string> namespaces;  ///< what changes of them, in words
  std::vector<std::string> files;       ///< likewise
  bool changes = false;
  model::Judgement impact;            ///< what those who use the cluster would notice
  std::vector<Shortfall> shortfalls;  ///< what does not run as it is declared, or failed when it was declared before
  std::vector<model::Protection> protections;  ///< of every capsule that is declared, whether it changes or not

  /// Whether what runs needs somebody, although nothing may be left to be declared.
  bool needs_you() const;
};

const describe::Structure& description(describe::Tag<JobWithSource>);
const describe::Structure& description(describe::Tag<ClusterBody>);
const describe::Structure& description(describe::Tag<ClusterPlan>);

}  // namespace underway::wire
