#pragma once
/// @file
/// Whether the Slurm of a capsule goes with that of the nodes and of other capsules, and a slurmd with its controller:
/// for upgrades and rollouts, which are refused, and for whoever plans.

#include "async/loop.hpp"
#include "image/manifest.hpp"
#include "slurm/version.hpp"
#include "tables/tables.hpp"

namespace underway::api {

struct Api;

/// The services of Slurm that an image has.
slurm::Services services_of(const image::Manifest& manifest);

/// The slurmd of all nodes. Where a job runs slurmd, that of the nodes that it is on, from where it runs it; else what
/// is installed.
std::vector<slurm::NodeVersions> slurmd_of_nodes(const tables::Tables& tables);

/// Where a job has slurmd from: the command of its task that is called so. Empty: it has none.
std::string slurmd_in(const model::Job& job);

/// Throws conflict, with what to do, when an image does not go with the nodes, with other capsules of the namespace or
/// with what the capsule has written, and `capsule` is not to be upgraded to it. `back`: it gets the data that it had.
async::awaitable<void> check_slurm_versions(Api& api, image::Manifest manifest, std::string ns, std::string capsule,
                                            bool back);

}  // namespace underway::api
