#pragma once
/// @file
/// What those who plan are told of the releases of Slurm in capsules and on nodes.

#include "cli/capsule/files.hpp"
#include "cli/command.hpp"
#include "model/job/job.hpp"

namespace underway::cli {

/// The Slurm of an image as `inspect` shows it: "slurmctld 22.05.8, slurmdbd 22.05.8"; empty: it has none.
std::string slurm_of(const image::Manifest& manifest);

/// A sentence for each capsule of the jobs whose Slurm does not go with that of the nodes or of other capsules, and for
/// each job whose slurmd does not go with its controller. Images are looked for among `files`, then in the server's
/// store; of others nothing is known.
std::vector<std::string> slurm_warnings(sdk::Client& client, const std::vector<const model::Job*>& jobs,
                                        const std::vector<CapsuleFile>& files);

/// Of `apply` and `up`.
inline constexpr Flag kAnySlurmVersion{"any-slurm-version", "",
                                       "Even if releases of Slurm come together that do not go together.", false};
/// Throws conflict when the jobs that the plan changes have any, and they are not asked for.
void refuse_slurm(sdk::Client& client, const wire::ClusterPlan& plan, const wire::ClusterBody& body,
                  const std::vector<CapsuleFile>& files, const Arguments& arguments);

/// Warns of them, if there are any.
void warn_of_slurm(sdk::Client& client, const model::Job& job);
void warn_of_slurm(sdk::Client& client, const wire::ClusterBody& body, const std::vector<CapsuleFile>& files);

}  // namespace underway::cli
