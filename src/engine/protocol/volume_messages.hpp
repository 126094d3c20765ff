#pragma once
/// @file
/// What a server asks of a node about dynamic host volumes. Each may be asked twice: the node does it once, and has it
/// on disk when it answers.
///
///     call  volume.create      VolumeOrder -> VolumeMade   the plugin makes it, or makes it larger
///     call  volume.register    VolumeOrder -> VolumeMade   the directory `path` is there, and is lent from now on
///     call  volume.delete      VolumeOrder -> {}           the plugin deletes it; what was registered is let go

#include "base/json/describe.hpp"
#include "model/job/job.hpp"

namespace underway::protocol {

struct VolumeOrder {
  std::string id;
  std::string name;
  std::string ns;
  std::string plugin;  ///< empty: registered
  std::string node_pool;
  std::int64_t capacity_min = 0, capacity_max = 0;  ///< bytes
  model::StringMap parameters;
  std::string path;  ///< of one that is registered
};

struct VolumeMade {
  std::string path;
  std::int64_t bytes = 0;
};

const describe::Structure& description(describe::Tag<VolumeOrder>);
const describe::Structure& description(describe::Tag<VolumeMade>);

}  // namespace underway::protocol
