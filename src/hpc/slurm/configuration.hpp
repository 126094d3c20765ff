#pragma once
/// @file
/// slurm.conf from pools: what job files and templates see as `slurm`.

#include "model/cluster.hpp"
#include "slurm/elastic/join.hpp"
#include "slurm/machine.hpp"

namespace underway::slurm {

/// A pool that joins Slurm, as its lines and the words of its slurmd have it; `pool.slurm` is there.
ElasticPool elastic_pool(const model::Pool& pool, const Machine& machine);

/// The NodeName line of a pool (slurm.conf(5), NODE CONFIGURATION); empty for a pool without hosts. What the pool does
/// not say is the machine's.
std::string node_line(const model::Pool& pool, const Machine& machine);
/// One for each pool that has hosts, in the cluster's order.
std::string node_lines(const model::Cluster& cluster, const Machine& machine);

/// The `slurm` object of job files: {nodes: the NodeName lines, pools: {NAME: {nodes: "c[1-4]", size: 4, node_line:
/// "NodeName=c[1-4] CPUs=…", cpus, memory, overcommitted: whether more processors are declared than the machine has}},
/// machine: {cpus, memory, cgroup}}. Of pools that join Slurm `nodes` is what a partition names, `node_line` the lines
/// that it needs, and `slurmd` are the words of their slurmd; and there are options, a text, with Slurm's programs
/// where it asks for hosts itself (AskPrograms), and slurmctld_parameters, communication_parameters and private_data,
/// lists with commas that belong into the site's values of these. They join as the pool says, or as the machine's
/// release of Slurm allows. Errors: invalid with all reasons why they cannot join so.
boost::json::value job_file_root(const model::Cluster& cluster, const Machine& machine);

}  // namespace underway::slurm
