#pragma once
/// @file
/// How the control loops of an agent go, as metrics and heartbeats tell it.

#include "async/control_loop.hpp"
#include "protocol/client_messages.hpp"
#include "protocol/messages.hpp"

namespace underway::node {

std::vector<protocol::LoopMetrics> measure_loops(const async::LoopRegistry& loops);
/// Of those that need somebody, in the order of their start.
std::vector<protocol::LoopTrouble> troubles_of(const async::LoopRegistry& loops);

}  // namespace underway::node
