#pragma once
/// @file
/// `nomad node status`, which `nomad status` is for nodes, and the list of nodes that `node pool nodes` shows too.

#include "cli/wire.hpp"

namespace underway::nomad {

int node_status(const cli::Arguments& arguments);

/// "yes" or "no" questions about a node of this machine: -self. Throws not_found when the agent is no node.
std::string own_node(cli::Api& api);

}  // namespace underway::nomad
