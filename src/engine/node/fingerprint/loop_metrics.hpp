#pragma once
/// @file
/// How the control loops of an agent go, as metrics show it.

#include "async/control_loop.hpp"
#include "protocol/client_messages.hpp"

namespace underway::node {

std::vector<protocol::LoopMetrics> measure_loops(const async::LoopRegistry& loops);

}  // namespace underway::node
