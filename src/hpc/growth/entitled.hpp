#pragma once
/// @file
/// Slurm jobs that may use the hosts of a pool because of what they are: of the account that paid for it (`owner`), of
/// a QOS that is served there (`qos`), or small (`up_to_nodes`). They are put where they would be if they had named the
/// pool's partition beside their own. Pure; growth.hpp tells Slurm.

#include "growth/look.hpp"

namespace underway::growth {

struct EntitledJob {
  std::string job;                      ///< as scontrol takes it; of an array its number, for all tasks that wait
  std::vector<std::string> partitions;  ///< that it is to have: those of its pools first, as it shall start there first
  std::string why;                      ///< "it is of account 'physics', which pool 'physics' serves"
};
/// Those that wait without such a partition. One that names its nodes, and a part of a heterogeneous job, is left
/// alone: Slurm takes no other partition for it.
std::vector<EntitledJob> entitled_jobs(const ClusterFacts& facts, const SlurmLook& slurm);

/// The queue as it will be when Slurm was told of all of these: no host is made for them where they wait until then.
void put_into_partitions(std::vector<slurm::QueuedJob>& queue, const std::vector<EntitledJob>& jobs);

/// Tells Slurm.
slurm::Command partitions_command(const EntitledJob& job);
/// Whether that was done although the command failed: of an array Slurm refuses tasks that run already, and says so of
/// the others, which is "1_1-6: Job is no longer pending execution" and "1_7-12: No error".
bool was_done_for_tasks(std::string_view told);

/// The partitions whose jobs the pool serves: those that it says, and those that have a node of it, whether that is
/// there or not.
std::set<std::string> partitions_of(const PoolFacts& pool, const SlurmLook& slurm);

}  // namespace underway::growth
