#include "ownership/move_decisions.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "ownership/detail/ownership.hpp"

namespace underway::ownership {

using detail::Ownership;
using model::Capsule;
using model::CapsuleState;
using model::MoveKind;
using model::MovePhase;
using server::Context;
using server::Decision;
using server::Nothing;
using tables::Tables;

namespace {

Ownership ownership_of(const Tables& tables, Capsule capsule, const Limits& limits, const Context& context) {
  auto job = tables.find_job(capsule.ns, capsule.job);
  std::string group = capsule.group;
  return {tables, limits, context, std::move(capsule), std::move(job), std::move(group)};
}

void append(std::vector<server::Change>& to, std::vector<server::Change> from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

Decision<Nothing> concluded(Ownership& ownership) {
  ownership.reconcile();
  return {ownership.take(), {}};
}

}  // namespace

Decision<Nothing> decide(const Tables& tables, const ReconcileCapsules& asked, const Context& context) {
  const auto& [limits] = asked;
  Decision<Nothing> decision;
  std::set<std::string> known;
  for (auto& capsule : tables::records<Capsule>(tables)) {
    known.insert(model::capsule_key(capsule.ns, capsule.name));
    Ownership ownership = ownership_of(tables, std::move(capsule), limits, context);
    ownership.reconcile();
    append(decision.changes, ownership.take());
  }
  for (const auto& job : tables.jobs()) {
    if (job->stop) continue;
    for (const auto& group : job->groups) {
      if (capsule_task(group) == nullptr) continue;
      if (!known.insert(model::capsule_key(job->ns, capsule_name(*job, group))).second) continue;
      Ownership ownership(tables, limits, context, std::nullopt, job, group.name);
      ownership.reconcile();
      append(decision.changes, ownership.take());
    }
  }
  return decision;
}

bool time_matters(const Tables& tables) {
  for (const auto& capsule : tables::records<Capsule>(tables)) {
    if (capsule.move || capsule.upgrade || capsule.silent_since > 0 || capsule.replicate_every > Duration{0})
      return true;
  }
  return false;
}

Todo todo_of(const Tables& tables, const Capsule& capsule, const Limits& limits, TimePoint now) {
  SeededIds unused{1};
  const Context context{now, unused};
  return ownership_of(tables, capsule, limits, context).todo();
}

bool copies_go_on(const Tables& tables, const Capsule& capsule, const std::string& node, std::int64_t epoch,
                  const Limits& limits) {
  SeededIds unused{1};
  const Context context{{}, unused};
  return capsule.epoch == epoch && capsule.standby == node && ownership_of(tables, capsule, limits, context).copies();
}

namespace {

void failed(Ownership& ownership, const Outcome& outcome, const Limits& limits) {
  auto& capsule = ownership.record();
  auto& move = *capsule.move;
  if (row_of(move.phase).effort == Effort::until_late) {
    capsule.description = *outcome.error;
    return;
  }
  // Another node's copy counts then, if there is one, however much older.
  if (outcome.lacks_copy && move.kind == MoveKind::failover) {
    ownership.forget_replica(move.target);
    return ownership.finish(*outcome.error, false);
  }
  if (outcome.final || ++move.attempts >= limits.attempts) return ownership.go_back(*outcome.error);
  capsule.description = fmt::format("tried {} times: {}", move.attempts, *outcome.error);
}

}  // namespace

bool enough(const model::CapsuleMove& move, const Limits& limits) {
  const auto& rounds = move.rounds;
  if (rounds.empty()) return false;
  if (rounds.back().bytes <= limits.small_round || static_cast<std::int64_t>(rounds.size()) >= limits.most_rounds)
    return true;
  return rounds.size() > 2 && rounds.back().bytes > rounds[rounds.size() - 2].bytes / 10 * 8;
}

Decision<Nothing> decide(const Tables& tables, const EndMoveStep& asked, const Context& context) {
  const auto& [key, move_id, phase, outcome, limits] = asked;
  auto capsule = tables::find_record<Capsule>(tables, key);
  if (!capsule || !capsule->move || capsule->move->id != move_id || capsule->move->phase != phase) return {};
  Ownership ownership = ownership_of(tables, std::move(*capsule), limits, context);
  if (outcome.error)
    failed(ownership, outcome, limits);
  else
    ownership.note(outcome);
  return concluded(ownership);
}

Decision<Nothing> decide(const Tables& tables, const NoteCopy& asked, const Context& context) {
  const auto& [key, node, epoch, outcome, limits] = asked;
  auto capsule = tables::find_record<Capsule>(tables, key);
  if (!capsule || capsule->epoch != epoch || capsule->owner == node) return {};
  Ownership ownership = ownership_of(tables, std::move(*capsule), limits, context);
  if (outcome.error)
    ownership.record().description = fmt::format("its standby has no new copy: {}", *outcome.error);
  else
    ownership.keep_replica(node, outcome.begun_at, epoch);
  // Nothing that may start depends on it, so that no node needs to be told.
  return {{tables::put_record(ownership.record())}, {}};
}

std::optional<std::int64_t> silence_of(const Tables& tables, const std::string& node) {
  const auto row = tables.find_node(node);
  if (!row) return 0;
  return row->silent() ? std::optional(row->status_updated_at) : std::nullopt;
}

Decision<Nothing> decide(const Tables& tables, const NoteFenced& asked, const Context& context) {
  const auto& [node, silent_since, by, limits] = asked;
  Decision<Nothing> decision;
  if (silence_of(tables, node) != silent_since) return decision;
  for (auto& capsule : tables::records<Capsule>(tables)) {
    if (capsule.owner != node) continue;
    Ownership ownership = ownership_of(tables, std::move(capsule), limits, context);
    ownership.fence(by);
    append(decision.changes, ownership.take());
  }
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const NoteNotFenced& asked, const Context& context) {
  const auto& [key, missing, why, limits] = asked;
  auto capsule = tables::find_record<Capsule>(tables, key);
  if (!capsule || !capsule->move) return {};
  Ownership ownership = ownership_of(tables, std::move(*capsule), limits, context);
  auto& record = ownership.record();
  if (missing) record.state = CapsuleState::waiting_for_fence;
  record.description = missing ? fmt::format("{}. See that {} is off, then: `underway capsule fence {} -host-is-off`",
                                             why, record.owner_name, record.name)
                               : fmt::format("{} cannot be fenced, which is tried again: {}", record.owner_name, why);
  return {ownership.take(), {}};
}

namespace {

Error conflict(const Capsule& capsule, const std::string& why) {
  return Error(Code::conflict, fmt::format("capsule '{}' cannot be moved", capsule.name)).because(why);
}

void check_target(const Tables& tables, const Capsule& capsule, const std::string& id) {
  const auto node = tables.find_node(id);
  if (!node) throw Error(Code::not_found, "node not found").because(fmt::format("no node with id '{}'", id));
  if (id == capsule.owner) throw conflict(capsule, fmt::format("it is on {} already", node->name));
  if (!node->ready())
    throw conflict(capsule, fmt::format("{} is {}", node->name,
                                        node->silent() ? "not heard of" : "drained, or takes no new allocations"));
  if (!node->drivers.contains(std::string(model::kCapsuleDriver)))
    throw conflict(capsule, fmt::format("{} has no driver 'capsule'", node->name))
        .advise("its agent needs root, and erofs in its kernel: see `underway node status`");
}

}  // namespace

Decision<std::string> decide(const Tables& tables, const BeginMove& asked, const Context& context) {
  const auto& [request, limits] = asked;
  Capsule capsule = get_capsule(tables, request.ns, request.name);
  if (capsule.move)
    throw conflict(capsule, fmt::format("it moves to {} already", capsule.move->target_name))
        .advise(fmt::format("follow it: `underway capsule status {}`", capsule.name));
  const auto at = tables.find_node(capsule.owner);
  if (capsule.upgrade && at && !at->silent())
    throw conflict(capsule, fmt::format("it is being upgraded to '{}'", capsule.upgrade->to_image))
        .advise(fmt::format("follow it: `underway capsule status {}`", capsule.name));
  const auto job = tables.find_job(capsule.ns, capsule.job);
  if (!job || job->stop) throw conflict(capsule, fmt::format("its job '{}' is stopped", capsule.job));
  check_target(tables, capsule, request.node);
  const auto owner = tables.find_node(capsule.owner);
  const bool heard = owner && !owner->silent();
  if (heard && request.without_overlay)
    throw conflict(capsule, fmt::format("{} is heard of, so that its overlay is there to be moved", owner->name))
        .advise("leave -without-overlay out");
  if (!heard && !request.without_overlay && capsule.ran && capsule.find_replica(request.node) == nullptr)
    throw conflict(capsule,
                   fmt::format("{} is not heard of, and the target has no copy of the overlay", capsule.owner_name))
        .advise("wait for it, or accept that what it wrote is lost: -without-overlay");
  Ownership ownership = ownership_of(tables, std::move(capsule), limits, context);
  if (ownership.record().silent_since == 0 && !heard) ownership.record().silent_since = unix_nanos(context.now);
  if (ownership.record().upgrade && row_of(ownership.record().upgrade->phase).stretch < Stretch::back)
    ownership.give_up(fmt::format("{} is not heard of, and it is started elsewhere", ownership.record().owner_name));
  ownership.begin_move(heard ? MoveKind::planned : MoveKind::failover, request.node, request.without_overlay);
  Decision<std::string> decision;
  decision.result = ownership.record().move->id;
  decision.changes = ownership.take();
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const Cancel& asked, const Context& context) {
  const auto& [ns, name, limits] = asked;
  Capsule capsule = get_capsule(tables, ns, name);
  if (capsule.upgrade && !capsule.move) {
    if (row_of(capsule.upgrade->phase).stretch == Stretch::back)
      throw Error(Code::conflict, fmt::format("the upgrade of capsule '{}' cannot be cancelled now", name))
          .because("it goes back already");
    Ownership ownership = ownership_of(tables, std::move(capsule), limits, context);
    ownership.give_up("it was cancelled");
    return {ownership.take(), {}};
  }
  if (!capsule.move) throw Error(Code::conflict, fmt::format("capsule '{}' neither moves nor is upgraded", name));
  const bool back = row_of(capsule.move->phase).stretch == Stretch::back;
  if (capsule.move->kind == MoveKind::failover || back)
    throw Error(Code::conflict, fmt::format("the move of capsule '{}' cannot be cancelled now", name))
        .because(back ? "it goes back already" : "there is nowhere to go back to");
  Ownership ownership = ownership_of(tables, std::move(capsule), limits, context);
  ownership.go_back("it was cancelled");
  return {ownership.take(), {}};
}

Decision<Nothing> decide(const Tables& tables, const Vouch& asked, const Context& context) {
  const auto& [ns, name, limits] = asked;
  const Capsule capsule = get_capsule(tables, ns, name);
  const auto node = tables.find_node(capsule.owner);
  if (node && !node->silent())
    throw Error(Code::conflict, fmt::format("{} is not off", node->name))
        .because("its agent is heard of")
        .advise(fmt::format("`underway capsule move {} -to NODE` moves it", name));
  return decide(tables,
                NoteFenced{capsule.owner, *silence_of(tables, capsule.owner),
                           "somebody vouched for it that its host is off", limits},
                context);
}

Decision<Nothing> decide(const Tables& tables, const SetStandby& asked, const Context& context) {
  const auto& [ns, name, node, every, rpo, limits] = asked;
  Ownership ownership = ownership_of(tables, get_capsule(tables, ns, name), limits, context);
  if (!node.empty() && !tables.find_node(node))
    throw Error(Code::not_found, "node not found").because(fmt::format("no node with id '{}'", node));
  auto& record = ownership.record();
  ownership.stand_by(node, node.empty() ? std::string() : tables.find_node(node)->name);
  record.standby_chosen = true;
  record.replicate_every = every;
  // Who asks for copies rarely knows that they are old.
  record.loss = node.empty() || every <= Duration{0} ? Duration{0} : std::max<Duration>(record.loss, 2 * every);
  if (rpo > Duration{0}) record.rpo = rpo;
  return {ownership.take(), {}};
}

}  // namespace underway::ownership
