#include "wire/cluster/cluster.hpp"

#include <algorithm>

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool ClusterPlan::needs_you() const {
  return std::any_of(shortfalls.begin(), shortfalls.end(),
                     [](const Shortfall& shortfall) { return shortfall.needs_you; });
}

const Structure& description(Tag<JobWithSource>) {
  static const Structure s =
      Builder<JobWithSource>("job with source", "A job and the text it came from.")
          .wire<&JobWithSource::job>("Job", "The job, with all that its file says.")
          .wire<&JobWithSource::submission>(
              "Submission", "Text and variables of its file, kept beside the job's version; absent: nothing is kept.")
          .done();
  return s;
}

const Structure& description(Tag<ClusterBody>) {
  static const Structure s =
      Builder<ClusterBody>("cluster body", "A cluster with all of its jobs.")
          .wire<&ClusterBody::cluster>("Cluster", "Its networks, shares, pools, directories and secrets.")
          .wire<&ClusterBody::jobs>("Jobs",
                                    "All jobs that its directory declares; those that it declares no more are stopped.")
          .wire<&ClusterBody::namespaces>("Namespaces",
                                          "The namespaces that its directory says something of, as they shall be.")
          .wire<&ClusterBody::files>(
              "Files",
              "All files that its directory declares; those that it declares no more are not synchronised any more.")
          .done();
  return s;
}

const Structure& description(Tag<ClusterPlan>) {
  static const Structure s =
      Builder<ClusterPlan>("cluster plan", "What applying a directory would do.")
          .wire<&ClusterPlan::cluster>("Cluster", "What differs in the cluster itself, and which hosts come and go.")
          .wire<&ClusterPlan::jobs>("Jobs",
                                    "The jobs that change, with what is done to each; each is planned by itself.")
          .wire<&ClusterPlan::unchanged>("Unchanged", "IDs of the jobs that stay as they are.")
          .wire<&ClusterPlan::stopped>(
              "Stopped", "IDs of the jobs that the directory does not declare any more, and that are stopped.")
          .wire<&ClusterPlan::namespaces>("Namespaces", "What changes in namespaces, one line for each.")
          .wire<&ClusterPlan::files>("Files", "What changes in the files that are synchronised, one line for each.")
          .wire<&ClusterPlan::changes>("Changes", "Whether applying it would change anything.")
          .wire<&ClusterPlan::impact>("Impact", "What those who use the cluster would notice.")
          .wire<&ClusterPlan::shortfalls>(
              "Shortfalls", "Jobs that do not run as they are declared, or whose declaration failed before.")
          .wire<&ClusterPlan::protections>("Protections",
                                           "How what its capsules keep is protected, of all that it declares.")
          .done();
  return s;
}

}  // namespace underway::wire
