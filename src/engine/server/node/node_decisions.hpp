#pragma once
/// @file
/// Decisions about nodes and what runs on them: joining, losing, eligibility, what a node reports, stopping an
/// allocation.

#include <functional>

#include "model/node/orphans.hpp"
#include "server/decision.hpp"

namespace underway::server {

struct RegisteredNode {
  std::string id;
  bool became_ready = false;
};
/// A node joins or comes back, with fresh fingerprints. Keeps its eligibility and its drain. Evaluates system jobs and
/// what it runs. `running` is what it still has of its allocations: one that was unknown, or given up with the node,
/// and that nothing has replaced, goes on, so that a lost link alone restarts nothing. Between one that was unknown and
/// what replaced it the scheduler chooses. `orphans` are noted (server/node/orphan_decisions.hpp). Throws denied when
/// the node is known with another secret.
struct RegisterNode {
  model::Node node;
  std::string secret;
  std::vector<model::AllocationUpdate> running = {};
  std::vector<model::Orphan> orphans = {};
};
Decision<RegisteredNode> decide(const Tables&, const RegisterNode&, const Context&);

/// Throws denied when the node is known with another secret; one that is not known is no matter.
void check_node_secret(const Tables&, const std::string& node_id, const std::string& name, const std::string& secret);

/// The nodes were not heard of in time: each is disconnected if something runs on it that may go on so (`disconnect`),
/// else down. Their jobs are evaluated, each once. Those that are so already, or not known, are passed over. Returns
/// the names of the others.
struct MarkNodesDown {
  std::vector<std::string> node_ids;
  std::string reason;
  /// Whether the node has come back while this waited for its turn. Absent: none has.
  std::function<bool(const std::string& node_id)> is_heard = {};
};
Decision<std::vector<std::string>> decide(const Tables&, const MarkNodesDown&, const Context&);

/// Disconnected nodes on which nothing is counted with any more are down.
struct GiveNodesUp {
  std::vector<std::string> node_ids;
};
Decision<Nothing> decide(const Tables&, const GiveNodesUp&, const Context&);

/// Whether new allocations may come to the node. Throws not_found; conflict: not to one that is drained.
struct SetEligibility {
  std::string node_id;
  model::Eligibility eligibility = model::Eligibility::eligible;
};
Decision<Nothing> decide(const Tables&, const SetEligibility&, const Context&);

/// Has the jobs that run on the node, and system jobs, looked at again. Returns the evaluations' ids. Throws not_found.
struct EvaluateNode {
  std::string node_id;
};
Decision<std::vector<std::string>> decide(const Tables&, const EvaluateNode&, const Context&);

/// Forgets a node that is not heard of, with its allocations. Throws not_found; conflict when it is linked.
struct PurgeNode {
  std::string node_id;
};
Decision<Nothing> decide(const Tables&, const PurgeNode&, const Context&);

/// What a node reports of its allocations. Those of other nodes or unknown ones are passed over, and so is what is
/// known already: reports are repeated until they are acknowledged. What has ended does not come to life again.
struct UpdateAllocations {
  std::string node_id;
  std::vector<model::AllocationUpdate> updates;
};
Decision<Nothing> decide(const Tables&, const UpdateAllocations&, const Context&);

struct StopAllocation {
  std::string id;
  bool no_shutdown_delay = false;  ///< without waiting for `shutdown_delay`, even when it is waiting already
  bool reschedule = false;         ///< marked as one to reschedule, for who asks for it by this name
};
/// Stops the allocation; the job is evaluated, so that a replacement is placed. Returns the evaluation's id. Throws
/// not_found.
Decision<std::string> decide(const Tables&, const StopAllocation&, const Context&);

/// Deletes the row and the secret that proved it.
void forget_node(std::vector<Change>& changes, const std::string& node_id);

/// The node can be counted on again: its jobs are evaluated, and those that wait for room.
void welcome(std::vector<Change>& changes, const Tables&, const model::Node& node, const Context&);

/// Evaluations that wait for capacity and could be placed now that `node` has some: made pending again.
void unblock(std::vector<Change>& changes, const Tables&, const model::Node& node, const Context&);

}  // namespace underway::server
