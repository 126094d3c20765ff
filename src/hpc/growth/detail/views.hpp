#pragma once
/// @file
/// Hosts and jobs as the policy sees them.

#include "growth/look.hpp"

namespace underway::growth::detail {

struct Views {
  std::vector<elastic::NodeView> nodes;
  std::set<std::string> taken;  ///< names of hosts of which anything is there
  /// Hosts that could not be made, with the number of their pool, and why.
  std::vector<std::pair<std::pair<std::string, std::size_t>, elastic::BootResult>> not_made;
  /// By pool: the partitions that Slurm has its nodes in.
  std::map<std::string, std::set<std::string>> partitions;
  bool settled = true;  ///< none comes or goes

  const elastic::NodeView* find(const std::string& name) const;
};
Views views_of(const ClusterFacts& facts, const SlurmLook& slurm, const std::map<std::string, Seen>& before,
               TimePoint now);

/// Adds what waits and what runs. A class serves the partitions that it says, or else those that have its nodes: then
/// it says so in `policy` too.
void add_jobs(elastic::Tick& tick, const std::vector<slurm::QueuedJob>& queue, elastic::Policy& policy,
              const std::map<std::string, std::set<std::string>>& partitions);

PoolStatus status_of(const elastic::PoolClass& type, const std::vector<elastic::NodeView>& nodes,
                     const elastic::State& state, TimePoint now);

/// Whether `name`, "17" or "17_3", is this line of the queue: of an array all tasks that wait together are one.
bool is_job(const slurm::QueuedJob& job, const std::string& name);
/// Whether it is one of the jobs that are explained together.
bool is_of_shape(const slurm::QueuedJob& job, const elastic::ShapeExplanation& shape);

}  // namespace underway::growth::detail
