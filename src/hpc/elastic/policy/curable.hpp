#pragma once
/// @file
/// Which of Slurm's reasons for waiting more nodes would cure.

#include <string_view>

namespace underway::elastic {

/// `reason` as squeue prints it (%r), also in words ("Nodes required for job are DOWN, DRAINED or reserved for jobs in
/// higher priority partitions"). A job that nobody has looked at yet ("None") may start as far as anybody knows.
/// PartitionConfig is cured: 22.05 gives it to jobs whose partition has no node yet (facts, 0 (2), measured). A reason
/// that we do not know is not: a node that nobody uses costs more than a job that waits for the administrator to ask.
/// Source: enum job_state_reason of Slurm 20.11 to 24.11, slurm/slurm.h.
bool capacity_cures(std::string_view reason);

}  // namespace underway::elastic
