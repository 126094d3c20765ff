#pragma once
/// @file
/// Whether the Slurm of a capsule goes with that of the nodes and of other capsules.

#include "base/json/describe.hpp"

namespace underway::wire {

/// What is answered at /v1/underway/slurm/versions.
struct SlurmVersions {
  std::vector<std::string> problems;  ///< as sentences; empty: they go together
  std::string summary;                ///< all versions on one line
};

const describe::Structure& description(describe::Tag<SlurmVersions>);

}  // namespace underway::wire
