#pragma once
/// @file
/// slurm.conf from pools: what job files and templates see as `slurm`.

#include "model/cluster.hpp"

namespace underway::slurm {

/// One NodeName line per pool, in the cluster's order (slurm.conf(5), NODE CONFIGURATION).
std::string node_lines(const model::Cluster& cluster);

/// The `slurm` object of job files: {nodes: the NodeName lines, pools: {NAME: {nodes: "c[1-4]", size: 4}}}.
boost::json::value job_file_root(const model::Cluster& cluster);

}  // namespace underway::slurm
