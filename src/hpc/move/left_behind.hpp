#pragma once
/// @file
/// What a capsule wrote where it ran, and whether somebody else has it. A planned move takes it along; when a host
/// died, or a move went back, what lies there may be nowhere else, and is not written over by the copies that come
/// next.

#include "capsule/running.hpp"
#include "move/messages.hpp"
#include "move/node_side.hpp"

namespace underway::move {

/// All that `run` wrote was received by another node.
void note_sent(const NodeOptions& options, const capsule::Run& run);

/// Puts the overlay in `directory` into the trash if `run` wrote to it and nobody has received that; false when it
/// stays. Where that is not possible it is said, and the overlay stays: a standby counts for more. Blocks.
bool put_aside(const NodeOptions& options, const capsule::Run& run, const std::string& directory);

/// A copy needs the room of what was put aside.
void give_way(const NodeOptions& options, const CapsuleRequest& request);

}  // namespace underway::move
