#pragma once
/// @file
/// The phases of a move and of an upgrade: for each one row that says who does what, within how long, what follows, and
/// how it is shown. The rows are in move_phases.cpp and upgrade_phases.cpp; a new phase is its name in
/// model::MovePhase or model::UpgradePhase and a row there. Why they are these: docs/explanation/move.md and
/// upgrade.md.

#include "model/capsule/capsule.hpp"

namespace underway::ownership {

struct Limits {
  Duration lease = std::chrono::seconds(10);      ///< of an owner's silence, from when its node was declared silent
  Duration place = std::chrono::seconds(15);      ///< for the target's allocation to be placed
  Duration start = std::chrono::seconds(90);      ///< for it to run
  Duration check = std::chrono::seconds(60);      ///< for its check to pass
  Duration transfer = std::chrono::seconds(120);  ///< for the last difference, while both nodes are there
  std::int64_t attempts = 3;                      ///< of what may be tried again before the stop
  std::int64_t most_rounds = 8;
  std::int64_t small_round = std::int64_t{4} << 20;  ///< bytes: what is left may be sent while the capsule stands
  Duration calm = std::chrono::minutes(1);           ///< before a drain tries again what failed
};

/// What has to be done outside of the tables.
enum class Action : std::uint8_t {
  none,
  stage,
  copy,
  before_stop,
  transfer,
  check,
  fence,
  replicate,
  look,      ///< of an upgrade: whether its image is there and may run
  rehearse,  ///< on a clone
  snapshot,  ///< of the overlay that nobody writes
  restore    ///< the overlay becomes what it was in a snapshot
};

/// Who does it: what is asked of a node needs a link to it.
enum class Who : std::uint8_t {
  engine,   ///< it stops, places and starts allocations as ever; nobody is asked for anything
  owner,    ///< the node that owns the capsule
  target,   ///< the node that it goes to
  both,     ///< these two
  provider  ///< of the owner's host
};

/// Where a phase lies, seen from the stop of what runs.
enum class Stretch : std::uint8_t {
  ahead,  ///< the stop is to come: to give up is free of charge
  away,   ///< since the stop: to give up is to go back
  back,   ///< it goes back
  over
};

/// For how long it is tried again.
enum class Effort : std::uint8_t {
  attempts,    ///< Limits::attempts times, or until it is known to be in vain
  until_late,  ///< until `within` is over
  until_done   ///< there is nothing else that could be done
};

/// Where the engine may place allocations of the capsule.
enum class Home : std::uint8_t { owner, source, target };

template <class Phase, class Record>
struct PhaseRow {
  Phase phase = Phase::done;
  Who who = Who::engine;
  Action does = Action::none;
  Duration Limits::* within = nullptr;  ///< null: as long as the action may take, or somebody must be waited for
  Phase then = Phase::done;
  Phase otherwise = Phase::done;  ///< done: it is given up
  std::string (*shown)(const Record&) = nullptr;

  bool (*only)(const Record&) = nullptr;  ///< else it is passed over; null: always
  Stretch stretch = Stretch::ahead;
  Effort effort = Effort::attempts;
  Home home = Home::owner;
  bool held = false;        ///< meanwhile no allocation of it may begin
  bool awaits_end = false;  ///< of what runs on the owner: its host is fenced if it is not heard of
  bool replaces = false;    ///< what runs goes on until the engine has a place for the next one
};
using MovePhaseRow = PhaseRow<model::MovePhase, model::CapsuleMove>;
using UpgradePhaseRow = PhaseRow<model::UpgradePhase, model::CapsuleUpgrade>;

const MovePhaseRow& row_of(model::MovePhase phase);
const UpgradePhaseRow& row_of(model::UpgradePhase phase);

model::MovePhase first_phase(const model::CapsuleMove& move);
model::UpgradePhase first_phase(const model::CapsuleUpgrade& upgrade);
/// What follows the phase that it is in.
template <class Record>
auto next_phase(const Record& record) {
  const auto* row = &row_of(row_of(record.phase).then);
  while (row->only != nullptr && !row->only(record)) row = &row_of(row->then);
  return row->phase;
}
/// All phases that it goes through when nothing fails, with the last, `done`.
std::vector<model::MovePhase> path_of(const model::CapsuleMove& move);
std::vector<model::UpgradePhase> path_of(const model::CapsuleUpgrade& upgrade);

/// What ran before runs on as if nothing was under way.
template <class Record>
bool stop_is_ahead(const Record& record) {
  return row_of(record.phase).stretch == Stretch::ahead;
}

/// The node on which allocations of it are placed; empty: any.
const std::string& home_of(const model::Capsule& capsule);

}  // namespace underway::ownership
