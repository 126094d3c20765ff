#pragma once
/// @file
/// The decisions about capsules as requests (server/request.hpp), under the limits of whoever carries them out. What
/// each does, and what it throws, stands at the function that it names (move_decisions.hpp, upgrade.hpp).

#include "ownership/upgrade.hpp"
#include "server/request.hpp"

namespace underway::ownership {

/// decide_reconciliation: everything that follows from the tables and the clock alone.
struct TendCapsules {
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const TendCapsules& request,
                                                const server::Context& context) {
  return decide_reconciliation(tables, request.limits, context);
}

/// decide_outcome: how an action of a move's phase ended.
struct EndMoveStep {
  std::string key, move_id;
  model::MovePhase phase;
  Outcome outcome;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const EndMoveStep& request,
                                                const server::Context& context) {
  return decide_outcome(tables, request.key, request.move_id, request.phase, request.outcome, request.limits, context);
}

/// decide_upgrade_outcome: how an action of an upgrade's phase ended.
struct EndUpgradeStep {
  std::string key, upgrade_id;
  model::UpgradePhase phase;
  UpgradeOutcome outcome;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const EndUpgradeStep& request,
                                                const server::Context& context) {
  return decide_upgrade_outcome(tables, request.key, request.upgrade_id, request.phase, request.outcome, request.limits,
                                context);
}

/// decide_replicated: a copy was made on the standby.
struct NoteCopy {
  std::string key, node;
  std::int64_t epoch = 0;
  Outcome outcome;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteCopy& request,
                                                const server::Context& context) {
  return decide_replicated(tables, request.key, request.node, request.epoch, request.outcome, request.limits, context);
}

/// decide_fenced: the host of a node is known to run nothing.
struct NoteFenced {
  std::string node;
  std::int64_t silent_since = 0;
  std::string by;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteFenced& request,
                                                const server::Context& context) {
  return decide_fenced(tables, request.node, request.silent_since, request.by, request.limits, context);
}

/// decide_not_fenced: whether the host runs something cannot be known.
struct NoteNotFenced {
  std::string key;
  bool missing = false;
  std::string why;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteNotFenced& request,
                                                const server::Context& context) {
  return decide_not_fenced(tables, request.key, request.missing, request.why, request.limits, context);
}

/// decide_move.
struct BeginMove {
  MoveRequest wanted;
  Limits limits;
};
inline server::Decision<std::string> decide(const tables::Tables& tables, const BeginMove& request,
                                            const server::Context& context) {
  return decide_move(tables, request.wanted, request.limits, context);
}

/// decide_upgrade.
struct BeginUpgrade {
  UpgradeRequest wanted;
  Limits limits;
};
inline server::Decision<std::string> decide(const tables::Tables& tables, const BeginUpgrade& request,
                                            const server::Context& context) {
  return decide_upgrade(tables, request.wanted, request.limits, context);
}

/// decide_restore.
struct BeginRestore {
  RestoreOrder wanted;
  Limits limits;
};
inline server::Decision<std::string> decide(const tables::Tables& tables, const BeginRestore& request,
                                            const server::Context& context) {
  return decide_restore(tables, request.wanted, request.limits, context);
}

/// decide_cancel: a planned move or an upgrade is given up.
struct Cancel {
  std::string ns, name;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const Cancel& request,
                                                const server::Context& context) {
  return decide_cancel(tables, request.ns, request.name, request.limits, context);
}

/// decide_vouch: a person says that the owner's host is off.
struct Vouch {
  std::string ns, name;
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const Vouch& request,
                                                const server::Context& context) {
  return decide_vouch(tables, request.ns, request.name, request.limits, context);
}

/// decide_standby: where copies are kept, and how often they are made.
struct SetStandby {
  std::string ns, name, node;
  Duration every{}, rpo{};
  Limits limits;
};
inline server::Decision<server::Nothing> decide(const tables::Tables& tables, const SetStandby& request,
                                                const server::Context& context) {
  return decide_standby(tables, request.ns, request.name, request.node, request.every, request.rpo, request.limits,
                        context);
}

}  // namespace underway::ownership
