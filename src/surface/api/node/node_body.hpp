#pragma once
/// @file
/// A node as the API and its events tell it: its row, and what Nomad's clients read beside it.

#include "model/node/node.hpp"

namespace underway::api {

std::string node_json(const model::Node& node);
/// In a list; with its operating system's attributes, and with its resources, when they are asked for.
std::string node_stub_json(const model::Node& node, bool with_os, bool with_resources);

}  // namespace underway::api
