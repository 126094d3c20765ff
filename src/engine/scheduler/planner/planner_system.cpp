#include "scheduler/planner/system_work.hpp"
#include "scheduler/reconcile/reschedule.hpp"
#include "scheduler/reconcile/update.hpp"

namespace underway::scheduler {

using model::ClientStatus;
using model::JobType;

/// Whether a look at the node that the evaluation is about is enough. A rollout that goes on, or that a look at the
/// whole would begin, counts on all nodes.
bool Planner::may_look_at_one_node() const {
  if (evaluation_.triggered_by != model::EvalTrigger::node_update || evaluation_.node_id.empty()) return false;
  if (rollout_.running()) return false;
  const model::Job& job = *situation_.job;
  const auto rolls = [&](const model::TaskGroup& group) { return update_policy(job, group).rolls(); };
  if (std::none_of(job.groups.begin(), job.groups.end(), rolls)) return true;
  if (!situation_.deployment || situation_.deployment->job_version != job.version) return false;
  return std::none_of(situation_.allocations.begin(), situation_.allocations.end(), [&](const AllocationRow& row) {
    return row->node_id == evaluation_.node_id && !row->terminal() && row->job_version != job.version;
  });
}

void Planner::plan_system() {
  const model::Job& job = *situation_.job;
  one_node_ = may_look_at_one_node();
  std::unordered_map<std::string_view, std::vector<AllocationRow>> by_group;
  for (const auto& allocation : situation_.allocations) {
    if (one_node_ && allocation->node_id != evaluation_.node_id) continue;
    by_group[allocation->group].push_back(allocation);
  }
  for (const auto& [name, allocations] : by_group) {
    const model::TaskGroup* group = job.find_group(name);
    for (const auto& allocation : allocations) {
      if (allocation->terminal()) continue;
      GroupChanges& changes = plan_.groups[std::string(name)];
      if (lost(*allocation)) {
        ++changes.lost;
        stop_unwanted(allocation);
      } else if (group == nullptr || group->count == 0) {
        ++changes.stop;
        stop_unwanted(allocation);
      }
    }
  }
  for (const auto& group : job.groups) {
    if (group.count > 0) plan_system_group(group, by_group[group.name]);
  }
}

/// What its node's state makes of one that runs; whether it is still there then.
bool Planner::stays(const AllocationRow& allocation, GroupChanges& changes) {
  switch (standing_of(*allocation, fleet_, now_)) {
    case Standing::lost:
      return false;  // stopped already
    case Standing::migrates:
      ++changes.stop;
      stop_and_free({allocation, kNodeTainted, false});
      return false;
    case Standing::silenced:
      note_unknown(allocation);
      [[fallthrough]];
    case Standing::unknown:
      next_loss_ = earlier(next_loss_, given_up_at(*allocation, now_).value_or(0));
      return true;
    case Standing::returned:
      note_return(allocation);
      return true;
    case Standing::stands:
      return true;
  }
  return true;
}

void Planner::collect(SystemWork& work, const std::vector<AllocationRow>& allocations) {
  const model::Job& job = *situation_.job;
  work.here.reserve(allocations.size());
  for (const auto& allocation : allocations) {
    const bool earlier = of_earlier_job(*allocation, job);
    if (!earlier) work.first_of_version = false;
    const bool history = allocation->server_terminal() && job.type != JobType::sysbatch;
    if (history && allocation->create_index < job.create_index) continue;
    const Slot slot = fleet_.find(allocation->node_id);
    if (slot == kNoSlot || !fleet_.node(slot).node || fleet_.node(slot).node->status == model::NodeStatus::down)
      continue;
    OnNode& found = work.here[slot];
    if (history) {
      if (!found.gone || found.gone->create_index < allocation->create_index) found.gone = allocation;
      continue;
    }
    if (!allocation->terminal()) {
      if (!stays(allocation, plan_.groups[work.group.name])) continue;
      if (!found.live) {
        found.live = allocation;
        peers_.add(slot, work.group.name);
        continue;
      }
      ++plan_.groups[work.group.name].stop;
      stop_and_free({allocation, kNotNeeded, false});
    } else if (job.type == JobType::sysbatch) {
      found.finished |= !earlier && (allocation->client_status == ClientStatus::complete ||
                                     allocation->client_status == ClientStatus::failed);
    } else if (allocation->client_status == ClientStatus::failed &&
               (!found.failed || found.failed->create_time < allocation->create_time)) {
      found.failed = allocation;
    }
  }
}

void Planner::plan_system_group(const model::TaskGroup& group, const std::vector<AllocationRow>& allocations) {
  SystemWork work(*situation_.job, group, fleet_, peers_, ask_of(situation_.job, group),
                  mix(seed_ ^ hash_text(group.name)), quota());
  collect(work, allocations);
  work.created_begin = plan_.created.size();
  if (!one_node_) open_system_rollout(work);
  static const OnNode nothing;
  const auto visit_slot = [&](Slot slot) {
    const auto it = work.here.find(slot);
    visit(work, slot, it == work.here.end() ? nothing : it->second);
  };
  if (one_node_) {
    const Slot slot = fleet_.find(evaluation_.node_id);
    if (slot != kNoSlot && fleet_.node(slot).node) visit_slot(slot);
  } else {
    for (const Slot slot : fleet_.ordered()) visit_slot(slot);
  }
  replace_outdated(work);
  restore_on_nodes(work);
  if (!one_node_) settle_system_rollout(work);
  explain_system(work);
}

/// A job that no node can take is worth a word; one that some nodes are not meant for is not.
void Planner::explain_system(SystemWork& work) {
  const std::string& name = work.group.name;
  const GroupChanges& changes = plan_.groups[name];
  const bool nowhere = changes.place + changes.ignore + changes.in_place + changes.destructive + changes.canary == 0;
  const bool exhausted = plan_.evaluation.queued[name] > 0;
  if (!exhausted && (!nowhere || one_node_)) return;
  if (!exhausted) work.metric = work.placer.failure();
  work.placer.add_class_eligibility(eligibility_);
  describe_collision(work.group, work.placer);
  plan_.evaluation.failed_groups[name] = std::move(work.metric);
}

void Planner::visit(SystemWork& work, Slot slot, const OnNode& here) {
  GroupChanges& changes = plan_.groups[work.group.name];
  if (here.live) return visit_live(work, slot, here.live);
  if (here.finished) {
    ++changes.ignore;
    return;
  }
  const std::int16_t verdict = work.placer.verdict(slot);
  if (verdict == ShapeIndex::kNotReady || verdict == ShapeIndex::kOutOfScope) return;
  ++work.metric.nodes_evaluated;
  ++work.metric.nodes_in_pool;
  ++work.metric.nodes_available[fleet_.node(slot).node->datacenter];
  if (verdict != ShapeIndex::kFeasible) return work.placer.judge(slot, work.metric);
  ++work.desired;
  const bool older = here.failed && here.failed->job_version != situation_.job->version;
  if (here.failed && rollout_.owns(*here.failed)) work.failing = true;
  // A new version does not wait for the time at which the old one would have been tried again, and where the old one
  // has failed a canary takes nothing away.
  if (older && (!rollout_.held(work.group.name) || rollout_.canarying_now(work.group.name)))
    return work.failed_before.push_back({slot, here.failed});
  const bool follows = !here.failed && here.gone && wants_successor(*here.gone);
  try_again(work, slot, follows ? here.gone : here.failed);
}

/// On a node that has nothing, or something that failed or was stopped there alone: now, or when its time comes; as it
/// was while nothing new may begin.
void Planner::try_again(SystemWork& work, Slot slot, const AllocationRow& previous) {
  if (previous && !previous->server_terminal()) {
    const bool owned = rollout_.owns(*previous);
    const auto when = replacement_time(*previous, work.reschedule);
    // What the failed rollout brought and could not keep up is not tried again while there is something to go back to.
    if (owned && rollout_.failed() && rollout_.stable()) return work.held.push_back({slot, previous, true});
    if (when && *when > now_ + context_.options.clock_slack.count()) {
      next_attempt_ = earlier(next_attempt_, *when);
      waiting_.push_back(previous);
      ++plan_.groups[work.group.name].ignore;
      if (owned) {
        ++work.tally.placed;
        ++work.tally.unhealthy;
      } else {
        ++work.tally.outstanding;
      }
      return;
    }
  }
  if (rollout_.held(work.group.name)) return work.held.push_back({slot, previous});
  place_on(work, slot, previous);
}

void Planner::visit_live(SystemWork& work, Slot slot, const AllocationRow& live) {
  GroupChanges& changes = plan_.groups[work.group.name];
  const bool current = live->job_version == situation_.job->version;
  const bool held = rollout_.held(work.group.name);
  if (!work.placer.in_scope(slot) && (current || !held)) {
    ++changes.stop;
    return stop_and_free({live, kNotNeeded, false});
  }
  const bool ready = fleet_.node(slot).ready();
  if (ready) {
    ++work.desired;
    if (works(*live)) ++work.working;
  }
  if (current || !ready) {
    ++changes.ignore;
    if (!rollout_.owns(*live)) return;
    ++work.tally.placed;
    if (live->health.canary) work.tally.canaries.push_back(live->id);
    if (!live->health.healthy) return void(++work.in_flight);
    ++(*live->health.healthy ? work.tally.healthy : work.tally.unhealthy);
    work.failing |= !*live->health.healthy;
    return;
  }
  const auto [known, fresh] = work.in_place.try_emplace(live->job.get());
  if (fresh) known->second = live->job && !tasks_updated(*live->job, *situation_.job, work.group.name);
  const bool suits = work.placer.suits(slot);
  if (known->second && suits) {
    update_in_place(live);
    const bool healthy = live->health.healthy.value_or(false);
    ++work.tally.placed;
    ++(healthy ? work.tally.healthy : work.in_flight);
    return;
  }
  if (suits || held) return work.outdated.push_back(live);
  ++changes.stop;
  stop_and_free({live, kNotNeeded, false});
}

/// False when there is no room.
bool Planner::place_on(SystemWork& work, Slot slot, const AllocationRow& previous) {
  const auto choice = find_place_on(work.placer, slot);
  if (!choice) {
    work.placer.judge(slot, work.metric);
    note_quota(work.placer, work.metric);
    ++plan_.evaluation.queued[work.group.name];
    ++work.tally.outstanding;
    --work.desired;
    return false;
  }
  create(situation_.job, work.group, 0, *choice, work.placer.metric(*choice), previous.get());
  if (previous) follow(previous, work.reschedule);
  ++plan_.groups[work.group.name].place;
  ++work.in_flight;
  return true;
}

/// As replace(), but on this node only. False when the new one does not fit there.
bool Planner::replace_on(SystemWork& work, Slot slot, const AllocationRow& old) {
  work.placer.release(*old);
  const auto choice = find_place_on(work.placer, slot);
  if (!choice) {
    ++work.metric.nodes_evaluated;
    work.placer.judge(slot, work.metric);
    note_quota(work.placer, work.metric);
    work.placer.retake(*old);
    ++plan_.evaluation.queued[work.group.name];
    ++plan_.groups[work.group.name].ignore;
    return false;
  }
  --live_;
  const std::string next = create(situation_.job, work.group, 0, *choice, work.placer.metric(*choice), old.get()).id;
  stop({old, kUpdating, false}, next);
  return true;
}

}  // namespace underway::scheduler
