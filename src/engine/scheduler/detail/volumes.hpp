#pragma once
/// @file
/// Whether a node has the volumes that a group asks for.

#include "model/node.hpp"

namespace underway::scheduler::detail {

/// Of Nomad's words for a node without: AllocMetric::constraint_filtered has them.
inline constexpr const char* kNoVolumes = "missing compatible host volumes";

/// Whether the node has the volume for the allocation of this number, and lends it as it is asked for.
bool has_volume(const model::Node& node, const model::VolumeRequest& request, std::int64_t index);

}  // namespace underway::scheduler::detail
