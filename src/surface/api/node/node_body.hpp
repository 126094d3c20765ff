#pragma once
/// @file
/// A node as the API and its events tell it: its row, and what Nomad's clients read beside it.

#include "model/node/node.hpp"
#include "tables/tables.hpp"

namespace underway::api {

std::string node_json(const model::Node& node);
/// In a list; with its operating system's attributes, and with its resources, when they are asked for.
std::string node_stub_json(const model::Node& node, bool with_os, bool with_resources);

/// Whom a request means by an id, the beginning of one, or a name. Errors: not_found; invalid (several).
std::string find_node_id(const tables::Tables& tables, const std::string& word);

}  // namespace underway::api
