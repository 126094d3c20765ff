#pragma once
/// @file
/// What was found when a slurmctld that had been started from an older state was compared with its nodes.

#include "model/job/job.hpp"

namespace underway::model {

struct SlurmReport {
  std::string ns = "default";
  std::string job;                    ///< whose allocation runs slurmctld
  std::string boot;                   ///< of slurmctld, as it tells it
  std::int64_t at = 0;                ///< ns since the epoch
  std::vector<std::string> findings;  ///< for people
  std::vector<std::string> cut_off;   ///< nodes that slurmctld does not reach, and that run its jobs
  std::vector<std::string> spared;    ///< Slurm jobs that run, or ran, and do not for slurmctld
  std::int64_t job_bound = 0;         ///< numbers of Slurm jobs that were given out are below; 0: none was seen
};

const describe::Structure& description(describe::Tag<SlurmReport>);

}  // namespace underway::model
