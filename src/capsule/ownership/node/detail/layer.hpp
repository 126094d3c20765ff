#pragma once
/// @file
/// The overlay of a capsule that a request is about, and the copy beside it.

#include "overlay/overlay.hpp"
#include "ownership/node/node_side.hpp"
#include "run/config/overlay_spec.hpp"

namespace underway::ownership::detail {

/// Where the overlay lies.
struct Layer {
  std::string directory;
  overlay::Spec spec;
};

const model::Task& task_of(const CapsuleRequest& request);
Layer layer_of(const NodeOptions& options, const CapsuleRequest& request);
/// Makes it if there is none. Blocks.
overlay::Mounted open(const NodeOptions& options, const CapsuleRequest& request,
                      std::function<void(bool)> stop_writers = {});
/// What is to become the overlay.
std::string copy_of(const overlay::Mounted& mounted);

}  // namespace underway::ownership::detail
