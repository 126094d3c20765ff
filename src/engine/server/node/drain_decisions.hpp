#pragma once
/// @file
/// Emptying nodes. What a person asked for stands in the node's row, what was marked to move in the allocations' rows;
/// one step of all drains follows from the tables and the server's clock alone. A server that is killed while a rack is
/// being drained goes on with the next step after its start, and nobody has to tell it.

#include "server/decision.hpp"

namespace underway::server {

struct DrainNode {
  std::string node_id;
  std::optional<model::DrainStrategy> drain;  ///< deadline and wishes; nothing: ends a drain
  bool mark_eligible = false;                 ///< at its end: new allocations may come again
  model::StringMap meta;
  std::string accessor_id;
};

/// Begins a drain, changes one that runs (its deadline counts anew), or ends one: what has not moved yet stays.
/// Throws not_found.
Decision<Nothing> decide(const Tables&, const DrainNode&, const Context&);

/// One step of every drain. Of a service's group at most migrate.max_parallel allocations are away at a time, counting
/// those that are not healthy; batch jobs are waited for; system jobs go when nothing else is left. What remains at
/// the deadline goes at once. Virtual machines go along, with what they do (move_decisions.hpp), and those that cannot
/// stay until the drain is asked for again, or its deadline. A node that is empty is done, and stays ineligible.
/// Without news it changes nothing.
struct AdvanceDrains {};
Decision<Nothing> decide(const Tables&, const AdvanceDrains&, const Context&);

/// When the next deadline of a drain passes; nothing when none is ahead.
std::optional<TimePoint> next_drain_deadline(const Tables&, TimePoint now);

/// Whether the node's drain waits for Slurm: it was to be asked, and has not let go of the node.
bool waits_for_slurm(const model::Node&, TimePoint now);

}  // namespace underway::server
