#pragma once
/// @file
/// Decisions about orphans (model/node/orphans.hpp): noted when their node registers, then kept or stopped by whoever
/// administers the cluster.

#include "model/node/orphans.hpp"
#include "server/node/node_decisions.hpp"
#include "server/storage/history.hpp"

namespace underway::server {

/// Of what the node was ordered to run, what these tables do not know of it and a server with `epochs` did not order.
std::vector<model::Orphan> find_orphans(const Tables&, const std::string& node_id,
                                        const std::vector<protocol::OrderedAllocation>& ordered,
                                        const std::map<std::string, model::Revision>& epochs);

struct EnrolledNode {
  RegisteredNode node;
  std::map<std::string, model::Revision> epochs;  ///< reached(), for AllocationsMessage
};
/// RegisterNode for one that tells whose orders it has, by a server in its run `epoch`.
struct EnrolNode {
  protocol::RegisterRequest request;
  std::string epoch;
};
Decision<EnrolledNode> decide(const Tables&, const EnrolNode&, const Context&);

/// Notes what `node`, which registers, has of them now. Nothing new comes to a node with orphans, which hold room and
/// ports that nobody counts: it is made ineligible, and eligible again once they are gone or known.
void note_orphans(std::vector<Change>& changes, const Tables&, model::Node& node, std::vector<model::Orphan> orphans,
                  const Context&);

/// Forgets them with their node.
void forget_orphans(std::vector<Change>& changes, const std::string& node_id);

using FoundOrphans = std::map<std::string, protocol::OrphanOrders>;  ///< by node

/// The server takes orphans as its own, as their nodes were ordered to run them; a job that it does not know, or in an
/// older version, becomes what the nodes know of it. Then they are treated as any allocation is: so all those of a job
/// are kept together, or the scheduler would replace those that it does not see yet. Throws not_found (a node),
/// conflict (another node has some of the same job; an allocation that is known meanwhile).
struct KeepOrphans {
  FoundOrphans found;
};
Decision<std::int64_t> decide(const Tables&, const KeepOrphans&, const Context&);

/// The nodes shall stop what they have of orphans. That changes nothing here until the nodes tell: what is kept beside
/// it is durable before they are asked. Returns how many are known.
struct StopOrphans {
  std::vector<std::string> node_ids;
};
Decision<std::int64_t> decide(const Tables&, const StopOrphans&, const Context&);

}  // namespace underway::server
