#pragma once
/// @file
/// Dynamic host volumes on the wire: as Nomad's clients read them.

#include "model/node/host_volume.hpp"

namespace underway::api {

/// What is of ours alone stays here.
boost::json::object volume_body(const model::HostVolume& volume);

}  // namespace underway::api
