#pragma once
/// @file
/// What a node calls the volume that an allocation asks for.

#include "model/job/volume.hpp"

namespace underway::model {

/// "data", or with per_alloc "data[3]" for the allocation of that number.
std::string volume_name(const VolumeRequest& request, std::int64_t index);

}  // namespace underway::model
