#pragma once
/// @file
/// What those who plan are told of the releases of Slurm in capsules and on nodes.

#include "cli/capsule_files.hpp"
#include "model/job.hpp"

namespace underway::cli {

/// The Slurm of an image as `inspect` shows it: "slurmctld 22.05.8, slurmdbd 22.05.8"; empty: it has none.
std::string slurm_of(const image::Manifest& manifest);

/// A sentence for each capsule of the jobs whose Slurm does not go with that of the nodes. Images are looked for among
/// `files`, then in the server's store; of others nothing is known.
std::vector<std::string> slurm_warnings(sdk::Client& client, const std::vector<const model::Job*>& jobs,
                                        const std::vector<CapsuleFile>& files);

/// Warns of them, if there are any.
void warn_of_slurm(sdk::Client& client, const model::Job& job);
void warn_of_slurm(sdk::Client& client, const api::ClusterBody& body, const std::vector<CapsuleFile>& files);

}  // namespace underway::cli
