// What is done in the phases of a move, whose table is in move_phases.cpp.
#include "ownership/detail/ownership.hpp"

#include "base/clock.hpp"

namespace underway::ownership::detail {

using model::CapsuleState;
using model::MoveKind;
using model::MovePhase;

void Ownership::begin_move(MoveKind kind, const std::string& target, bool without_overlay) {
  auto& move = record_.move.emplace();
  move.id = context_.ids.uuid();
  move.kind = kind;
  move.source = record_.owner;
  move.source_name = record_.owner_name;
  move.target = target;
  move.target_name = target.empty() ? "any node" : name_of(target);
  move.without_overlay = without_overlay;
  move.started_at = now();
  if (kind == MoveKind::failover) move.stopped_at = record_.silent_since;
  enter(first_phase(move));
}

void Ownership::enter(MovePhase phase) {
  record_.move->phase = phase;
  record_.move->phase_at = now();
  record_.move->attempts = 0;
  record_.state = CapsuleState::moving;
  record_.description.clear();
}

void Ownership::finish(const std::string& error, bool rolled_back) {
  unmark();
  auto& move = *record_.move;
  move.phase = MovePhase::done;
  move.ended_at = now();
  move.error = error;
  move.rolled_back = rolled_back;
  record_.last_move = std::move(move);
  record_.move.reset();
  record_.state = CapsuleState::held;
  record_.description.clear();
}

void Ownership::advance_move() {
  const auto next = next_phase(*record_.move);
  if (next == MovePhase::done) return finish(record_.move->error, move_work().row.stretch == Stretch::back);
  enter(next);
}

void Ownership::go_back(const std::string& error) {
  const auto otherwise = move_work().row.otherwise;
  if (otherwise == MovePhase::done) return finish(error, false);
  record_.move->error = error;
  enter(otherwise);
}

void Ownership::fail_forward(const std::string& error) {
  if (record_.move->kind == MoveKind::planned) return go_back(error);
  finish(error, false);
  record_.state = CapsuleState::failed;
  record_.description = error;
}

void Ownership::look_at_move() {
  if (const auto look = move_work().look; look != nullptr) (this->*look)();
}

void Ownership::before_the_stop() {
  adopt();
  if (owner_gone()) return finish(fmt::format("{} is not heard of", record_.owner_name), false);
  if (gone(record_.move->target)) finish(fmt::format("{} is not heard of", record_.move->target_name), false);
}

void Ownership::stopping() {
  if (ended()) return advance_move();
  const auto row = may_run();
  if (row && row->server_terminal()) return;
  if (!heard_of(record_.move->target)) return go_back(fmt::format("{} is not heard of", record_.move->target_name));
  if (move_is_late())
    go_back(fmt::format("{} has no place for it: `underway job status {}` says why", record_.move->target_name,
                        record_.job));
}

void Ownership::transferring() {
  auto& move = *record_.move;
  const bool failover = move.kind == MoveKind::failover;
  if (failover && heard_of(move.source)) return finish(fmt::format("{} was heard of again", move.source_name), false);
  if (gone(move.target)) return fail_forward(fmt::format("{} is not heard of", move.target_name));
  if (!failover && source_left() && record_.find_replica(move.target) == nullptr)
    return go_back(fmt::format("{} is not heard of, and {} has no copy", move.source_name, move.target_name));
  if (move_is_late())
    fail_forward(fmt::format("the last difference was not copied within {}", human_duration(move_limit())));
}

/// There is no last difference to be had.
bool Ownership::source_left() const { return gone(record_.move->source) || record_.fenced; }

void Ownership::fencing() {
  auto& move = *record_.move;
  if (heard_of(record_.owner)) return finish(fmt::format("{} was heard of again", record_.owner_name), false);
  if (!move.target.empty() && !heard_of(move.target)) {
    const auto* other = move.without_overlay ? nullptr : best_replica(tables_, record_, record_.silent_since);
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
void Ownership::release_unused() {
  if (const auto row = may_run()) lose(*row, fmt::format("{} is gone", record_.owner_name));
  finish("", false);
  record_.owner.clear();
  record_.owner_name.clear();
  record_.owner_host.clear();
  record_.allocation.clear();
  record_.fenced = false;
  record_.silent_since = 0;
  evaluate();
}

void Ownership::starting() {
  if (record_.allocation.empty()) adopt();
  if (runs()) return advance_move();
  if (owner_gone()) return fail_forward(fmt::format("{} is not heard of", record_.owner_name));
  const auto row = may_run();
  if (row && row->client_terminal()) {
    return fail_forward(fmt::format("it did not start on {}: {}", record_.owner_name,
                                    row->client_description.empty() ? "its tasks ended" : row->client_description));
  }
  if (move_is_late())
    fail_forward(fmt::format("it did not start on {} within {}", record_.owner_name, human_duration(move_limit())));
}

void Ownership::checking() {
  if (owner_gone()) return fail_forward(fmt::format("{} is not heard of", record_.owner_name));
  const auto row = may_run();
  if (!row || row->client_terminal()) return fail_forward(fmt::format("it ended on {}", record_.owner_name));
  if (move_is_late()) {
    fail_forward(fmt::format("its check did not pass within {}{}{}", human_duration(move_limit()),
                             record_.description.empty() ? "" : ": ", record_.description));
  }
}

void Ownership::going_back() {
  auto& move = *record_.move;
  if (record_.owner == move.target) {
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

void Ownership::restoring() {
  adopt();
  if (runs()) return advance_move();
  if (owner_gone())
    return finish(fmt::format("{}; and {} is not heard of", record_.move->error, record_.owner_name), true);
  if (!move_is_late()) return;
  const std::string error =
      fmt::format("{}; and it does not start again on {}", record_.move->error, record_.owner_name);
  finish(error, true);
  record_.state = CapsuleState::failed;
  record_.description = error;
}

/// Of what an upgrade has stopped none are made until it is over: they would hold what a failed image wrote.
bool Ownership::copies() const {
  const bool upgraded = record_.upgrade && !stop_is_ahead(*record_.upgrade);
  return record_.replicate_every > Duration{0} && !record_.move && !upgraded && !record_.standby.empty() &&
         record_.standby != record_.owner && heard_of(record_.standby) && heard_of(record_.owner) && runs();
}

// --- what was done

void Ownership::note(const Outcome& outcome) {
  const auto done = move_work().done;
  if (done != nullptr && (this->*done)(outcome)) advance_move();
}

bool Ownership::staged(const Outcome& outcome) {
  if (!outcome.snapshot.empty())
    record_.last_snapshot = fmt::format("{} on {} (before move)", outcome.snapshot, record_.move->source_name);
  record_.move->note = outcome.note;
  return true;
}

bool Ownership::copied(const Outcome& outcome) {
  const bool last = enough(*record_.move, limits_);
  record_.move->rounds.push_back(outcome.round);
  if (outcome.consistent) keep_replica(record_.move->target, outcome.begun_at, record_.epoch);
  return last;
}

bool Ownership::told_what_comes(const Outcome&) {
  record_.move->stopped_at = now();
  return true;
}

bool Ownership::transferred(const Outcome& outcome) {
  auto& move = *record_.move;
  if (outcome.consistent) {
    move.rounds.push_back(outcome.round);
    keep_replica(move.target, now(), record_.epoch);
  } else if (move.kind == MoveKind::planned) {
    if (!move.note.empty()) move.note += "; ";
    move.note += fmt::format("{} was gone before the last difference was copied: what was written after {} is lost",
                             move.source_name, format_time(from_unix_nanos(record_.find_replica(move.target)->at)));
  }
  const auto* copy = record_.find_replica(move.target);
  if (move.kind == MoveKind::failover && copy != nullptr && !move.without_overlay)
    move.note = fmt::format("it starts from the copy of {}: what was written later is lost",
                            format_time(from_unix_nanos(copy->at)));
  // What an upgrade left half done there can be started from by nobody.
  if (record_.upgrade)
    forget_replica(move.source);
  else if (move.kind == MoveKind::failover)
    keep_replica(move.source, record_.silent_since, record_.epoch);
  switch_to(move.target);
  return true;
}

bool Ownership::checked(const Outcome&) {
  auto& move = *record_.move;
  move.gap = Duration(now() - move.stopped_at);
  if (move.kind == MoveKind::planned) keep_replica(move.source, move.stopped_at, record_.epoch);
  // Of a failover, too: copies go there again when it is back.
  if (record_.standby.empty() || !record_.standby_chosen || record_.standby == move.target)
    stand_by(move.source, move.source_name);
  return true;
}

// --- what is to be done

Todo Ownership::todo() const {
  if (!record_.move && record_.upgrade) return upgrade_todo();
  if (!record_.move) {
    const auto* replica = record_.find_replica(record_.standby);
    // What follows has to be begun, after a start of the server; how often it is copied is its own business.
    const bool due =
        !replica || past(replica->at, std::min<Duration>(record_.replicate_every, std::chrono::seconds(10)));
    if (!due || !copies()) return {};
    return {.action = Action::replicate, .who = Who::both, .node = record_.standby, .consistent = true};
  }
  const auto& move = *record_.move;
  const auto& row = move_work().row;
  if (row.awaits_end) {
    if (!owner_gone() || ended() || record_.state == CapsuleState::waiting_for_fence) return {};
    return {.action = Action::fence, .who = Who::provider, .node = record_.owner};
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
