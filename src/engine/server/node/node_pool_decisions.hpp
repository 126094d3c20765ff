#pragma once
/// @file
/// Node pools, by Nomad's rules: the two that are built in stay, one that is used is not deleted, and a node that joins
/// one that is not there makes it.

#include "server/decision.hpp"
#include "tables/node_pools.hpp"

namespace underway::server {

/// Throws invalid (the pool itself, or one that is built in).
struct PutNodePool {
  model::NodePool pool;
};
Decision<Nothing> decide(const Tables&, const PutNodePool&, const Context&);
/// Throws not_found, conflict: it is built in, or jobs or nodes are in it.
struct DeleteNodePool {
  std::string name;
};
Decision<Nothing> decide(const Tables&, const DeleteNodePool&, const Context&);
/// Makes the pool if it is not there. Throws invalid for a name that no pool may have, and for `all`.
void ensure_node_pool(std::vector<Change>& changes, const Tables&, const std::string& name);

/// How long certificates of the pool's nodes are good at most; nothing: it does not say.
std::optional<Duration> lifetime_in_pool(const Tables&, const std::string& pool);

}  // namespace underway::server
