#pragma once
/// @file
/// The decisions about who may run a capsule. Pure: the controller carries them out, the simulation tries them. The
/// rule, the phases and what happens at each crash: docs/explanation/move.md.

#include "ownership/capsules.hpp"
#include "ownership/phases.hpp"
#include "server/request.hpp"

namespace underway::ownership {

/// Everything that follows from the tables and the clock alone: grants, ends, silence, timeouts, the next phase. To be
/// asked for whenever something changed, and once a second while time_matters().
struct ReconcileCapsules {
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const ReconcileCapsules&, const server::Context&);
/// Whether something waits for time to pass.
bool time_matters(const tables::Tables& tables);

/// What has to be done outside of the tables now.
struct Todo {
  Action action = Action::none;
  Who who = Who::engine;
  std::string node;    ///< fence: this one; others: to this one
  bool alone = false;  ///< transfer: the source is gone, what the target has is made its overlay
  bool consistent =
      false;             ///< copy: the writers are held up while the rest is copied, so that it could be started from
  bool upgrade = false;  ///< it is a step of the upgrade, not of the move
  std::string snapshot;  ///< restore: which
};
Todo todo_of(const tables::Tables& tables, const model::Capsule& capsule, const Limits& limits, TimePoint now);

/// Whether copies that follow each other still go from the owner of that epoch to `node`.
bool copies_go_on(const tables::Tables& tables, const model::Capsule& capsule, const std::string& node,
                  std::int64_t epoch, const Limits& limits);

/// How an action ended. `error` is for people.
struct Outcome {
  std::optional<std::string> error;
  bool final = false;         ///< trying again would find the same
  std::int64_t begun_at = 0;  ///< ns since the epoch
  model::MoveRound round;     ///< copy, transfer, replicate
  bool consistent = false;    ///< what was copied could be started from
  std::string snapshot;       ///< stage: of the owner's overlay
  std::string note;           ///< what else is to be known
  bool lacks_copy = false;    ///< of an error of transfer: the target has not what the record says that it has
};
/// Of an action of a move's phase; without effect when the move is elsewhere by now.
struct EndMoveStep {
  std::string key, move_id;
  model::MovePhase phase;
  Outcome outcome;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const EndMoveStep&, const server::Context&);
/// A copy was made on the standby, of the owner's overlay of that epoch.
struct NoteCopy {
  std::string key, node;
  std::int64_t epoch = 0;
  Outcome outcome;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const NoteCopy&, const server::Context&);
/// The host of `node` is known to run nothing: its provider says so, or a person. Of every capsule that it owned.
/// `silent_since`: as silence_of() had it when the provider was asked; what was found of an earlier silence says
/// nothing.
struct NoteFenced {
  std::string node;
  std::int64_t silent_since = 0;
  std::string by;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const NoteFenced&, const server::Context&);
/// Which silence of the node this is: when it was declared silent, in seconds since the epoch; 0: it is not known at
/// all; nothing: it is heard of.
std::optional<std::int64_t> silence_of(const tables::Tables& tables, const std::string& node);
/// It cannot be known: nobody to ask (`missing`), or it failed, and is tried again.
struct NoteNotFenced {
  std::string key;
  bool missing = false;
  std::string why;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const NoteNotFenced&, const server::Context&);

struct MoveRequest {
  std::string ns = "default", name;
  std::string node;              ///< id of the target
  bool without_overlay = false;  ///< start there with what there is
};
/// Begins a move; of a capsule whose owner is not heard of a failover. Returns its id. Throws not_found; conflict: it
/// moves, its job is stopped, the target is not ready, or nothing is there to start from.
struct BeginMove {
  MoveRequest wanted;
  Limits limits;
};
server::Decision<std::string> decide(const tables::Tables&, const BeginMove&, const server::Context&);
/// Gives a planned move or an upgrade up, while that is free of charge; later it goes back. Throws not_found, conflict.
struct Cancel {
  std::string ns, name;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const Cancel&, const server::Context&);
/// A person says that the owner's host is off. Throws not_found; conflict: its node is heard of.
struct Vouch {
  std::string ns, name;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const Vouch&, const server::Context&);
/// Where copies are kept, and how often they are made. Throws not_found.
struct SetStandby {
  std::string ns, name, node;
  Duration every{}, rpo{};
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const SetStandby&, const server::Context&);

}  // namespace underway::ownership
