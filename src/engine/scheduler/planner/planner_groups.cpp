#include "base/allowance.hpp"
#include "scheduler/planner/group_work.hpp"
#include "scheduler/reconcile/update.hpp"

namespace underway::scheduler {

using model::Allocation;

void Planner::plan_groups() {
  const model::Job& job = *situation_.job;
  std::unordered_map<std::string_view, std::vector<AllocationRow>> by_group;
  for (const auto& allocation : situation_.allocations) by_group[allocation->group].push_back(allocation);
  // All that stops stops first, so that every group sees the room that all of them leave.
  for (const auto& [name, allocations] : by_group) {
    if (job.find_group(name) != nullptr) continue;
    for (const auto& allocation : allocations) {
      if (allocation->terminal()) continue;
      ++plan_.groups[std::string(name)].stop;
      stop_unwanted(allocation);
    }
  }
  std::vector<GroupWork> works;
  works.reserve(job.groups.size());
  for (const auto& group : job.groups) works.push_back(begin_group(group, std::move(by_group[group.name])));
  for (auto& work : works) plan_group(work);
  if (job.all_at_once && !plan_.evaluation.failed_groups.empty()) refuse_partial();
  for (const auto& work : works) settle_rollout(work);
}

Planner::GroupWork Planner::begin_group(const model::TaskGroup& group, std::vector<AllocationRow> allocations) {
  const model::Job& job = *situation_.job;
  GroupWork work;
  work.group = &group;
  work.policy = model::update_policy(job, group);
  work.first_of_version = std::all_of(allocations.begin(), allocations.end(),
                                      [&](const AllocationRow& row) { return of_earlier_job(*row, job); });
  for (const auto& allocation : allocations) {
    const Slot slot = allocation->is_leaving() ? fleet_.find(allocation->node_id) : kNoSlot;
    if (slot == kNoSlot) continue;
    work.left.push_back(slot);
    peers_.add(slot, group.name);
  }
  take_canaries(work, allocations);
  work.plan = reconcile_group(job, group, allocations, fleet_, now_, context_.options.clock_slack);
  take_note(group, work.plan);
  return work;
}

namespace {

/// For who plans on an allowance: the fleet's indexes are looked up.
constexpr std::uint64_t kStepsOfGroup = 200;

}  // namespace

void Planner::take_note(const model::TaskGroup& group, const GroupPlan& plan) {
  next_attempt_ = earlier(next_attempt_, plan.next_attempt);
  next_loss_ = earlier(next_loss_, plan.next_loss);
  waiting_.insert(waiting_.end(), plan.waiting.begin(), plan.waiting.end());
  for (const auto& allocation : plan.silenced) note_unknown(allocation);
  for (const auto& allocation : plan.settled) note_return(allocation);
  GroupChanges& changes = plan_.groups[group.name];
  changes.ignore += plan.ignore + static_cast<std::int64_t>(plan.keep.size());
  for (const auto& stop : plan.stops) {
    ++(stop.lost ? changes.lost : changes.stop);
    stop_and_free(stop);
  }
  for (const auto* list : {&plan.keep, &plan.outdated, &plan.migrating}) {
    for (const auto& allocation : *list) peers_.add(fleet_.find(allocation->node_id), group.name);
  }
}

void Planner::plan_group(GroupWork& work) {
  const model::TaskGroup& group = *work.group;
  if (work.idle()) return;
  Allowance::spend(kStepsOfGroup);
  // They are beside the other groups' allocations, not beside the ones that take their place.
  for (const Slot slot : work.left) peers_.remove(slot, group.name);
  const std::size_t stopped_begin = plan_.stopped.size();
  Placer placer(fleet_, peers_, ask_of(situation_.job, group), mix(seed_ ^ hash_text(group.name)), Placer::Use::ranking,
                quota());
  for (auto& old : work.plan.outdated) {
    const bool same = old->job && !tasks_updated(*old->job, *situation_.job, group.name);
    // Another constraint ends no machine where it is: it would begin anew elsewhere, without its disk.
    const bool stays = model::runs_once(*old) || placer.suits(fleet_.find(old->node_id));
    (same && stays ? work.in_place : work.destructive).push_back(std::move(old));
  }
  open_rollout(work);
  work.created_begin = plan_.created.size();
  move_all(work, placer);
  for (const auto& old : work.in_place) update_in_place(old);
  const std::size_t now = may_replace(work);
  for (std::size_t i = 0; i < now; ++i) replace(group, placer, work.destructive[i]);
  plan_.groups[group.name].ignore += static_cast<std::int64_t>(work.destructive.size() - now);
  place_canaries(work, placer);
  if (rollout_.held(group.name))
    fill_as_before(work);
  else
    fill_all(group, placer, work.plan.missing);
  work.created_end = plan_.created.size();
  for (std::size_t i = stopped_begin; i < plan_.stopped.size(); ++i) {
    if (plan_.stopped[i].is_leaving()) work.left.push_back(fleet_.find(plan_.stopped[i].node_id));
  }
  for (const Slot slot : work.left) peers_.add(slot, group.name);
}

/// A disk that stays with its allocation is where its predecessor was, also when that failed there.
Slot Planner::place_of_disk(const model::TaskGroup& group, const Allocation* previous) const {
  return previous != nullptr && group.ephemeral_disk.sticky ? fleet_.find(previous->node_id) : kNoSlot;
}

void Planner::fill_all(const model::TaskGroup& group, Placer& placer, const std::vector<Missing>& missing) {
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (fill(situation_.job, group, placer, missing[i])) continue;
    if (!placer.alike()) {
      fail(group, placer, 1);
      continue;
    }
    // The rest asks for the same and finds the same.
    fail(group, placer, static_cast<std::int64_t>(missing.size() - i));
    break;
  }
}

/// Stops the old one and starts the new one in its place if that fits, else elsewhere; else the old one goes on.
void Planner::replace(const model::TaskGroup& group, Placer& placer, const AllocationRow& old) {
  placer.release(*old);
  Placer::Hint hint;
  hint.prefer = fleet_.find(old->node_id);
  hint.index = std::max<std::int64_t>(0, old->index());
  const auto choice = find_place(placer, hint);
  if (!choice) {
    // Asked while its place is still free: it is about what stands in the way besides itself.
    fail(group, placer, 1);
    placer.retake(*old);
    ++plan_.groups[group.name].ignore;
    return;
  }
  --live_;
  const auto index = std::max<std::int64_t>(0, old->index());
  const std::string next = create(situation_.job, group, index, *choice, placer.metric(*choice), old.get()).id;
  stop({old, kUpdating, false}, next);
  ++plan_.groups[group.name].destructive;
}

/// What runs, or sleeps, as the version that its successor is to be. At a drain's deadline nothing is waited for.
bool Planner::takes_machines(const model::Job& job, const Allocation& old) const {
  return old.transition.with_machines && old.client_status == model::ClientStatus::running && !old.awaits_machines() &&
         old.job_version == job.version && !has_to_go(old, fleet_, now_);
}

/// Those that sleep go on sleeping there, unless it is for the sake of waking them.
void Planner::send_machines(const Allocation& old, Allocation& moved) const {
  moved.arrival = model::AllocArrival{.from = old.id, .origin = old.arrival ? old.arrival->origin : old.id};
  if (!old.sleeps() || old.transition.wakes) return;
  moved.sleep = model::AllocSleep{.wanted = true, .since = now_, .asleep = true};
}

/// Machines that run make nobody stop for a move: it can wait.
std::optional<Choice> Planner::find_place_elsewhere(Placer& placer, const model::TaskGroup& group,
                                                    const Allocation& old) {
  Allowance::spend(kStepsOfGroup);
  const Slot here = fleet_.find(old.node_id);
  if (!old.transition.to_node.empty()) {
    const Slot there = fleet_.find(old.transition.to_node);
    return there == kNoSlot || there == here ? std::nullopt : placer.place_on(there);
  }
  Placer::Hint hint;
  hint.prefer = place_of_disk(group, &old);
  if (hint.prefer == here) hint.prefer = kNoSlot;
  hint.avoid = here;
  hint.index = std::max<std::int64_t>(0, old.index());
  return placer.place(hint);
}

/// Starts another one elsewhere and stops this one; without a place elsewhere it goes on for as long as it may.
void Planner::move(const tables::Row<model::Job>& job, const model::TaskGroup& group, Placer& placer,
                   const AllocationRow& old) {
  placer.release(*old);
  const auto index = std::max<std::int64_t>(0, old->index());
  const bool along = takes_machines(*job, *old);
  const auto choice = along ? find_place_elsewhere(placer, group, *old) : [&] {
    Placer::Hint hint;
    hint.prefer = place_of_disk(group, old.get());
    hint.index = index;
    return find_place(placer, hint);
  }();
  if (choice) {
    --live_;
    Allocation& moved = create(job, group, index, *choice, placer.metric(*choice), old.get());
    moved.health.canary = old->health.canary;
    if (along) send_machines(*old, moved);
    const std::string next = moved.id;
    stop({old, kMigrating, false}, next);
    plan_.stopped.back().transition.with_machines = along;
    ++plan_.groups[group.name].migrate;
    return;
  }
  fail(group, placer, 1);
  if (has_to_go(*old, fleet_, now_)) {
    --live_;
    stop({old, kMigrating, false});
    ++plan_.groups[group.name].stop;
    return;
  }
  placer.retake(*old);
  ++plan_.groups[group.name].ignore;
}

bool Planner::fill(const tables::Row<model::Job>& job, const model::TaskGroup& group, Placer& placer,
                   const Missing& missing) {
  Placer::Hint hint;
  hint.index = missing.index;
  hint.prefer = place_of_disk(group, missing.previous.get());
  if (missing.previous_failed) hint.penalise = fleet_.find(missing.previous->node_id);
  const auto choice = find_place(placer, hint);
  if (!choice) return false;
  create(job, group, missing.index, *choice, placer.metric(*choice), missing.previous.get());
  ++plan_.groups[group.name].place;
  if (missing.previous) follow(missing.previous, reschedule_policy(*job, group));
  return true;
}

/// all_at_once: what would start does not, and what it would have replaced goes on.
void Planner::refuse_partial() {
  std::string missing;
  std::int64_t wanted = static_cast<std::int64_t>(plan_.created.size());
  for (const auto& [group, metric] : plan_.evaluation.failed_groups) {
    const std::int64_t queued = plan_.evaluation.queued[group];
    missing += fmt::format("{}{} of {}", missing.empty() ? "" : ", ", queued, group);
    wanted += queued;
  }
  std::string& told = plan_.evaluation.status_description;
  told = fmt::format("all at once: none of {} is placed, as there is no room for {}{}{}", wanted, missing,
                     told.empty() ? "" : "; ", told);
  for (const auto& row : plan_.created) {
    ++plan_.evaluation.queued[row.group];
    GroupChanges& changes = plan_.groups[row.group];
    changes.place = changes.destructive = changes.migrate = 0;
    if (row.previous_allocation.empty()) continue;
    std::erase_if(plan_.stopped, [&](const Allocation& stopped) {
      return stopped.id == row.previous_allocation && stopped.client_status != model::ClientStatus::lost;
    });
    std::erase_if(plan_.noted, [&](const Allocation& noted) {
      return noted.id == row.previous_allocation && !noted.next_allocation.empty();
    });
    for (auto& stopped : plan_.stopped) {
      if (stopped.id == row.previous_allocation) stopped.next_allocation.clear();
    }
  }
  live_ -= static_cast<std::int64_t>(plan_.created.size());
  for (auto& [name, changes] : plan_.groups) changes.preempted = 0;
  plan_.created.clear();
  plan_.preempted.clear();
}

}  // namespace underway::scheduler
