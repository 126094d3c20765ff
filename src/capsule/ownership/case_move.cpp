// The phases of a move: docs/explanation/move.md.
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
  enter(kind == MoveKind::failover ? MovePhase::fence : MovePhase::stage);
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

void Case::go_back(const std::string& error) {
  if (c_.move->phase < MovePhase::stop) return finish(error, false);
  c_.move->error = error;
  enter(MovePhase::roll_back);
}

void Case::fail_forward(const std::string& error) {
  if (c_.move->kind == MoveKind::planned) return go_back(error);
  finish(error, false);
  c_.state = CapsuleState::failed;
  c_.description = error;
}

void Case::step() {
  switch (c_.move->phase) {
    case MovePhase::stage:
    case MovePhase::copy:
    case MovePhase::before_stop:
      return before_the_stop();
    case MovePhase::stop:
      return stopping();
    case MovePhase::transfer:
      return transferring();
    case MovePhase::fence:
      return fencing();
    case MovePhase::start:
      return starting();
    case MovePhase::check:
      return checking();
    case MovePhase::roll_back:
      return going_back();
    case MovePhase::restore:
      return restoring();
    case MovePhase::done:
      return;
  }
}

void Case::before_the_stop() {
  adopt();
  if (owner_gone()) return finish(fmt::format("{} is not heard of", c_.owner_name), false);
  if (gone(c_.move->target)) finish(fmt::format("{} is not heard of", c_.move->target_name), false);
}

void Case::stopping() {
  if (ended()) return enter(MovePhase::transfer);
  const auto row = may_run();
  if (row && row->server_terminal()) return;
  if (!heard_of(c_.move->target)) return go_back(fmt::format("{} is not heard of", c_.move->target_name));
  if (past(c_.move->phase_at, limits_.place))
    go_back(fmt::format("{} has no place for it: `underway job status {}` says why", c_.move->target_name, c_.job));
}

void Case::transferring() {
  auto& move = *c_.move;
  const bool failover = move.kind == MoveKind::failover;
  if (failover && heard_of(move.source)) return finish(fmt::format("{} was heard of again", move.source_name), false);
  if (gone(move.target)) return fail_forward(fmt::format("{} is not heard of", move.target_name));
  if (!failover && source_left() && c_.find_replica(move.target) == nullptr)
    return go_back(fmt::format("{} is not heard of, and {} has no copy", move.source_name, move.target_name));
  if (past(move.phase_at, limits_.transfer))
    fail_forward(fmt::format("the last difference was not copied within {}", human_duration(limits_.transfer)));
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
  enter(MovePhase::transfer);
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
  if (runs()) return enter(MovePhase::check);
  if (owner_gone()) return fail_forward(fmt::format("{} is not heard of", c_.owner_name));
  const auto row = may_run();
  if (row && row->client_terminal()) {
    return fail_forward(fmt::format("it did not start on {}: {}", c_.owner_name,
                                    row->client_description.empty() ? "its tasks ended" : row->client_description));
  }
  if (past(c_.move->phase_at, limits_.start))
    fail_forward(fmt::format("it did not start on {} within {}", c_.owner_name, human_duration(limits_.start)));
}

void Case::checking() {
  if (owner_gone()) return fail_forward(fmt::format("{} is not heard of", c_.owner_name));
  const auto row = may_run();
  if (!row || row->client_terminal()) return fail_forward(fmt::format("it ended on {}", c_.owner_name));
  if (past(c_.move->phase_at, limits_.check)) {
    fail_forward(fmt::format("its check did not pass within {}{}{}", human_duration(limits_.check),
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
    return enter(MovePhase::restore);
  }
  if (ended()) return enter(MovePhase::restore);
  const auto row = may_run();
  if (row && !row->server_terminal()) finish(move.error, false);
}

void Case::restoring() {
  adopt();
  if (runs()) return finish(c_.move->error, true);
  if (owner_gone()) return finish(fmt::format("{}; and {} is not heard of", c_.move->error, c_.owner_name), true);
  if (!past(c_.move->phase_at, limits_.start)) return;
  const std::string error = fmt::format("{}; and it does not start again on {}", c_.move->error, c_.owner_name);
  finish(error, true);
  c_.state = CapsuleState::failed;
  c_.description = error;
}

/// Of what an upgrade has stopped none are made until it is over: they would hold what a failed image wrote.
bool Case::copies() const {
  const bool upgraded = c_.upgrade && c_.upgrade->phase >= model::UpgradePhase::stop;
  return c_.replicate_every > Duration{0} && !c_.move && !upgraded && !c_.standby.empty() && c_.standby != c_.owner &&
         heard_of(c_.standby) && heard_of(c_.owner) && runs();
}

Todo Case::todo() const {
  if (!c_.move && c_.upgrade) return upgrade_todo();
  if (!c_.move) {
    const auto* replica = c_.find_replica(c_.standby);
    // What follows has to be begun, after a start of the server; how often it is copied is its own business.
    const bool due = !replica || past(replica->at, std::min<Duration>(c_.replicate_every, std::chrono::seconds(10)));
    return due && copies() ? Todo{.action = Action::replicate, .node = c_.standby, .consistent = true} : Todo{};
  }
  const auto& move = *c_.move;
  const bool both = heard_of(move.source) && heard_of(move.target);
  const auto when = [&](bool possible, Action action) {
    return possible ? Todo{.action = action, .node = move.target} : Todo{};
  };
  switch (move.phase) {
    case MovePhase::stage:
      return when(both, Action::stage);
    case MovePhase::copy: {
      Todo todo = when(both, Action::copy);
      todo.consistent = enough(move, limits_);
      return todo;
    }
    case MovePhase::before_stop:
      return when(both, Action::before_stop);
    case MovePhase::transfer:
      if (move.kind == MoveKind::failover || source_left()) {
        Todo todo = when(heard_of(move.target), Action::transfer);
        todo.alone = true;
        return todo;
      }
      return when(both, Action::transfer);
    case MovePhase::check:
      return when(heard_of(c_.owner), Action::check);
    case MovePhase::fence:
    case MovePhase::stop:
    case MovePhase::roll_back:
      if (!owner_gone() || ended() || c_.state == CapsuleState::waiting_for_fence) return {};
      return {.action = Action::fence, .node = c_.owner};
    case MovePhase::start:
    case MovePhase::restore:
    case MovePhase::done:
      break;
  }
  return {};
}

}  // namespace underway::ownership::detail
