#pragma once
/// @file
/// What became of a node, as its `Events` tell it. Words and subsystems are Nomad's (nomad/structs/structs.go,
/// nomad/node_endpoint.go), on which dashboards match.

#include "server/decision.hpp"

namespace underway::server::history {

/// How many a node keeps: the newest. Source: Nomad's structs.MaxRetainedNodeEvents.
inline constexpr std::size_t kKept = 10;

void record(model::Node& node, std::string subsystem, std::string message, const Context& context,
            model::StringMap details = {});

/// `node` is about to take the place of `before`, null when it is new: keeps what that had seen, and since when its
/// drivers are as they are.
void registered(model::Node& node, const model::Node* before, const Context& context);

/// Its eligibility was changed.
void marked(model::Node& node, const Context& context);

}  // namespace underway::server::history
