#pragma once
/// @file
/// Which hosts sleep together, asked of Slurm at once, for whoever names some of them.

#include "server/server.hpp"
#include "slurm/sleep/node_sleep.hpp"

namespace underway::slurm {

/// Nodes that have to sleep with `hosts` of the cluster, as Slurm jobs are on them, too; by name, with one such job.
/// None where no slurmctld of the cluster runs. Throws as run_in_task().
async::awaitable<std::map<std::string, std::string>> ask_companions(server::Server& server, std::string cluster,
                                                                    std::vector<std::string> hosts);

}  // namespace underway::slurm
