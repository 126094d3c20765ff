// What is done in the phases of a move, whose table is in move_phases.cpp.
#include "ownership/detail/case.hpp"

#include "base/clock.hpp"

namespace underway::ownership::detail {

using model::CapsuleState;
using model::MoveKind;
using model::MovePhase;

void Case::begin_move(MoveKind kind, const std::string& target, bool without_overlay) {
  auto& move = c_.move.emplace();
  move.id = context_.ids.uuid();
  move.kind = kind;
  move.source = c_.owner;
  move.source_name = c_.owner_name;
  move.target = target;
  move.target_name = target.empty() ? "any node" : name_of(target);
  move.without_overlay = without_overlay;
  move.started_at = now();
  if (kind == MoveKind::failover) move.stopped_at = c_.silent_since;
  enter(first_phase(move));
}

void Case::enter(MovePhase phase) {
  c_.move->phase = phase;
  c_.move->phase_at = now();
  c_.move->attempts = 0;
  c_.state = CapsuleState::moving;
  c_.description.clear();
}

void Case::finish(const std::string& error, bool rolled_back) {
  unmark();
  auto& move = *c_.move;
  move.phase = MovePhase::done;
  move.ended_at = now();
  move.error = error;
  move.rolled_back = rolled_back;
  c_.last_move = std::move(move);
  c_.move.reset();
  c_.state = CapsuleState::held;
  c_.description.clear();
}

void Case::advance_move() {
  const auto next = next_phase(*c_.move);
  if (next == MovePhase::done) return finish(c_.move->error, move_work().row.stretch == Stretch::back);
  enter(next);
}

void Case::go_back(const std::string& error) {
  const auto otherwise = move_work().row.otherwise;
  if (otherwise == MovePhase::done) return finish(error, false);
  c_.move->error = error;
  enter(otherwise);
}

void Case::fail_forward(const std::string& error) {
  if (c_.move->kind == MoveKind::planned) return go_back(error);
  finish(error, false);
  c_.state = CapsuleState::failed;
  c_.description = error;
}

void Case::look_at_move() {
  if (const auto look = move_work().look; look != nullptr) (this->*look)();
}

void Case::before_the_stop() {
  adopt();
  if (owner_gone()) return finish(fmt::format("{} is not heard of", c_.owner_name), false);
  if (gone(c_.move->target)) finish(fmt::format("{} is not heard of", c_.move->target_name), false);
}

void Case::stopping() {
  if (ended()) return advance_move();
  const auto row = may_run();
  if (row && row->server_terminal()) return;
  if (!heard_of(c_.move->target)) return go_back(fmt::format("{} is not heard of", c_.move->target_name));
  if (move_is_late())
    go_back(fmt::format("{} has no place for it: `underway job status {}` says why", c_.move->target_name, c_.job));
}

void Case::transferring() {
  auto& move = *c_.move;
  const bool failover = move.kind == MoveKind::failover;
  if (failover && heard_of(move.source)) return finish(fmt::format("{} was heard of again", move.source_name), false);
  if (gone(move.target)) return fail_forward(fmt::format("{} is not heard of", move.target_name));
  if (!failover && source_left() && c_.find_replica(move.target) == nullptr)
    return go_back(fmt::format("{} is not heard of, and {} has no copy", move.source_name, move.target_name));
  if (move_is_late())
    fail_forward(fmt::format("the last difference was not copied within {}", human_duration(move_limit())));
}

/// There is no last difference to be had.
bool Case::source_left() const { return gone(c_.move->source) || c_.fenced; }

void Case::fencing() {
  auto& move = *c_.move;
  if (heard_of(c_.owner)) return finish(fmt::format("{} was heard of again", c_.owner_name), false);
  if (!move.target.empty() && !heard_of(move.target)) {
    const auto* other = move.without_overlay ? nullptr : best_replica(tables_, c_, c_.silent_since);
    if (other == nullptr && gone(move.target))
      return finish(fmt::format("{} is not heard of either", move.target_name), false);
    if (other == nullptr) return;
    move.target = other->node;
    move.target_name = other->node_name;
  }
  if (!ended()) return;
  if (move.target.empty()) return release_unused();
  advance_move();
}

/// It never ran: nothing is lost, and any node will do.
void Case::release_unused() {
  if (const auto row = may_run()) lose(*row, fmt::format("{} is gone", c_.owner_name));
  finish("", false);
  c_.owner.clear();
  c_.owner_name.clear();
  c_.owner_host.clear();
  c_.allocation.clear();
  c_.fenced = false;
  c_.silent_since = 0;
  evaluate();
}

void Case::starting() {
  if (c_.allocation.empty()) adopt();
  if (runs()) return advance_move();
  if (owner_gone()) return fail_forward(fmt::format("{} is not heard of", c_.owner_name));
  const auto row = may_run();
  if (row && row->client_terminal()) {
    return fail_forward(fmt::format("it did not start on {}: {}", c_.owner_name,
                                    row->client_description.empty() ? "its tasks ended" : row->client_description));
  }
  if (move_is_late())
    fail_forward(fmt::format("it did not start on {} within {}", c_.owner_name, human_duration(move_limit())));
}

void Case::checking() {
  if (owner_gone()) return fail_forward(fmt::format("{} is not heard of", c_.owner_name));
  const auto row = may_run();
  if (!row || row->client_terminal()) return fail_forward(fmt::format("it ended on {}", c_.owner_name));
  if (move_is_late()) {
    fail_forward(fmt::format("its check did not pass within {}{}{}", human_duration(move_limit()),
                             c_.description.empty() ? "" : ": ", c_.description));
  }
}

void Case::going_back() {
  auto& move = *c_.move;
  if (c_.owner == move.target) {
    // Nobody is left to go back to.
    if (gone(move.source) && heard_of(move.target))
      return finish(fmt::format("{}; {} is not heard of, so that it stays", move.error, move.source_name), false);
    if (!ended()) return;
    switch_to(move.source);
    return advance_move();
  }
  if (ended()) return advance_move();
  const auto row = may_run();
  if (row && !row->server_terminal()) finish(move.error, false);
}

void Case::restoring() {
  adopt();
  if (runs()) return advance_move();
  if (owner_gone()) return finish(fmt::format("{}; and {} is not heard of", c_.move->error, c_.owner_name), true);
  if (!move_is_late()) return;
  const std::string error = fmt::format("{}; and it does not start again on {}", c_.move->error, c_.owner_name);
  finish(error, true);
  c_.state = CapsuleState::failed;
  c_.description = error;
}

/// Of what an upgrade has stopped none are made until it is over: they would hold what a failed image wrote.
bool Case::copies() const {
  const bool upgraded = c_.upgrade && !stop_is_ahead(*c_.upgrade);
  return c_.replicate_every > Duration{0} && !c_.move && !upgraded && !c_.standby.empty() && c_.standby != c_.owner &&
         heard_of(c_.standby) && heard_of(c_.owner) && runs();
}

// --- what was done

void Case::note(const Outcome& outcome) {
  const auto done = move_work().done;
  if (done != nullptr && (this->*done)(outcome)) advance_move();
}

bool Case::staged(const Outcome& outcome) {
  if (!outcome.snapshot.empty())
    c_.last_snapshot = fmt::format("{} on {} (before move)", outcome.snapshot, c_.move->source_name);
  c_.move->note = outcome.note;
  return true;
}

bool Case::copied(const Outcome& outcome) {
  const bool last = enough(*c_.move, limits_);
  c_.move->rounds.push_back(outcome.round);
  if (outcome.consistent) keep_replica(c_.move->target, outcome.begun_at, c_.epoch);
  return last;
}

bool Case::told_what_comes(const Outcome&) {
  c_.move->stopped_at = now();
  return true;
}

bool Case::transferred(const Outcome& outcome) {
  auto& move = *c_.move;
  if (outcome.consistent) {
    move.rounds.push_back(outcome.round);
    keep_replica(move.target, now(), c_.epoch);
  } else if (move.kind == MoveKind::planned) {
    if (!move.note.empty()) move.note += "; ";
    move.note += fmt::format("{} was gone before the last difference was copied: what was written after {} is lost",
                             move.source_name, format_time(from_unix_nanos(c_.find_replica(move.target)->at)));
  }
  const auto* copy = c_.find_replica(move.target);
  if (move.kind == MoveKind::failover && copy != nullptr && !move.without_overlay)
    move.note = fmt::format("it starts from the copy of {}: what was written later is lost",
                            format_time(from_unix_nanos(copy->at)));
  // What an upgrade left half done there can be started from by nobody.
  if (c_.upgrade)
    forget_replica(move.source);
  else if (move.kind == MoveKind::failover)
    keep_replica(move.source, c_.silent_since, c_.epoch);
  switch_to(move.target);
  return true;
}

bool Case::checked(const Outcome&) {
  auto& move = *c_.move;
  move.gap = Duration(now() - move.stopped_at);
  if (move.kind == MoveKind::planned) keep_replica(move.source, move.stopped_at, c_.epoch);
  // Of a failover, too: copies go there again when it is back.
  if (c_.standby.empty() || !c_.standby_chosen || c_.standby == move.target) stand_by(move.source, move.source_name);
  return true;
}

// --- what is to be done

Todo Case::todo() const {
  if (!c_.move && c_.upgrade) return upgrade_todo();
  if (!c_.move) {
    const auto* replica = c_.find_replica(c_.standby);
    // What follows has to be begun, after a start of the server; how often it is copied is its own business.
    const bool due = !replica || past(replica->at, std::min<Duration>(c_.replicate_every, std::chrono::seconds(10)));
    if (!due || !copies()) return {};
    return {.action = Action::replicate, .who = Who::both, .node = c_.standby, .consistent = true};
  }
  const auto& move = *c_.move;
  const auto& row = move_work().row;
  if (row.awaits_end) {
    if (!owner_gone() || ended() || c_.state == CapsuleState::waiting_for_fence) return {};
    return {.action = Action::fence, .who = Who::provider, .node = c_.owner};
  }
  if (row.does == Action::none) return {};
  Todo todo{.action = row.does, .who = row.who, .node = move.target};
  todo.alone = row.does == Action::transfer && (move.kind == MoveKind::failover || source_left());
  if (todo.alone) todo.who = Who::target;
  todo.consistent = row.does == Action::copy && enough(move, limits_);
  const bool there = heard_of(move.target) && (todo.who == Who::target || heard_of(move.source));
  return there ? todo : Todo{};
}

}  // namespace underway::ownership::detail
