#pragma once
/// @file
/// Whether the Slurm of a capsule goes with that of the nodes: for upgrades, which are refused, and for whoever plans.

#include "image/manifest.hpp"
#include "slurm/version.hpp"
#include "tables/tables.hpp"

namespace underway::api {

/// What is answered at /v1/underway/slurm/versions.
struct SlurmVersions {
  std::vector<std::string> problems;  ///< as sentences; empty: they go together
  std::string summary;                ///< all versions on one line
};
const describe::Structure& description(describe::Tag<SlurmVersions>);

/// The services of Slurm that an image has.
slurm::Services services_of(const image::Manifest& manifest);

/// With the slurmd of all nodes.
SlurmVersions slurm_versions(const tables::Tables& tables, const slurm::Services& services);

/// Throws conflict, with what to do, when an image does not go with the nodes, and `capsule` is not to be upgraded to
/// it.
void check_slurm_versions(const tables::Tables& tables, const image::Manifest& manifest, const std::string& capsule);

}  // namespace underway::api
