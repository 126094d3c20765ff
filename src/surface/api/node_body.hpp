#pragma once
/// @file
/// A node as the API and its events tell it: its row, and what Nomad's clients read beside it.

#include "model/node.hpp"

namespace underway::api {

std::string node_json(const model::Node& node);

}  // namespace underway::api
