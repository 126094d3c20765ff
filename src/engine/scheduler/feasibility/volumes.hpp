#pragma once
/// @file
/// Whether a node has the volumes that a group asks for.

#include "base/random.hpp"
#include "model/allocation.hpp"
#include "model/node/host_volume.hpp"
#include "model/node/node.hpp"

namespace underway::scheduler {

/// Of Nomad's words for a node without: AllocMetric::constraint_filtered has them.
inline constexpr const char* kNoVolumes = "missing compatible host volumes";

/// Whether the node has the volume for the allocation of this number, and lends it to jobs of the namespace as it is
/// asked for. A sticky one is a dynamic volume: others cannot be told apart.
bool has_volume(const model::Node& node, const model::VolumeRequest& request, std::int64_t index,
                const std::string& ns);

/// What is missing where somebody else holds one alone.
inline constexpr const char* kHasWriter = "host volume has a writer";

/// What nobody else may hold on the node (access_mode single-node-single-writer), as keys of a Hold's devices: of the
/// group those that all its allocations would hold, and those that only its allocation of this number would.
std::vector<std::string> volumes_held_alone(const model::TaskGroup& group);
std::vector<std::string> own_volumes_held_alone(const model::TaskGroup& group, std::int64_t index);
std::vector<std::string> volumes_held_alone(const model::Allocation& allocation);

/// Whether a sticky volume of the allocation of this number may be the node's: it is bound to no other.
bool claims_allow(const std::vector<model::HostVolumeClaim>& claims, const model::Node& node,
                  const model::TaskGroup& group, const model::VolumeRequest& request, std::int64_t index);
/// Claims to write for an allocation that is placed there: each sticky volume is bound, or was, and is held by it now.
std::vector<model::HostVolumeClaim> bind_volumes(const std::vector<model::HostVolumeClaim>& claims,
                                                 const model::Node& node, const model::TaskGroup& group,
                                                 const model::Allocation& allocation, std::int64_t index,
                                                 IdSource& ids);

}  // namespace underway::scheduler
