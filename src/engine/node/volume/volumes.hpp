#pragma once
/// @file
/// Which directories of the node a task's `volume_mount`s mean.

#include "model/allocation.hpp"
#include "model/node/node.hpp"
#include "node/task/interpolate.hpp"

namespace underway::node {

/// A directory of the node in a task.
struct VolumeUse {
  std::string path;         ///< on the node
  std::string destination;  ///< in the task
  bool read_only = false;
  model::Propagation propagation = model::Propagation::isolated;
};

/// All of the task's, with their variables replaced. `dynamic`: volumes beside those of the node's configuration, by
/// name.
/// Errors: not_found when the node has no such volume; invalid for one that the group does not ask for.
std::vector<VolumeUse> volumes_of(const model::Node& node, const model::Allocation& allocation, const model::Task& task,
                                  const Interpolation& interpolation,
                                  const std::map<std::string, model::NodeVolume>& dynamic = {});

}  // namespace underway::node
