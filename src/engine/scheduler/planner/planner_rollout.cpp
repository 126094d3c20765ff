#include <set>

#include "scheduler/planner/group_work.hpp"
#include "scheduler/reconcile/standing.hpp"

namespace underway::scheduler {

using model::Allocation;

/// Canaries that are still to be judged go apart; those of a rollout that is over end with it.
void Planner::take_canaries(GroupWork& work, std::vector<AllocationRow>& allocations) {
  const auto is_canary = [](const AllocationRow& allocation) { return allocation->health.canary; };
  if (std::none_of(allocations.begin(), allocations.end(), is_canary)) return;
  const auto first = allocations.begin() +
                     put_first(allocations, [](const Allocation& candidate) { return !candidate.health.canary; });
  std::vector<AllocationRow> own;
  for (auto it = first; it != allocations.end(); ++it) {
    const Allocation& canary = **it;
    if (rollout_.owns_canary(canary)) {
      own.push_back(*it);
    } else if (!canary.server_terminal() && canary.client_status != model::ClientStatus::complete) {
      ++plan_.groups[work.group->name].stop;
      stop_and_free({*it, kNotNeeded, false});
    }
  }
  allocations.erase(first, allocations.end());
  if (!rollout_.canarying(work.group->name)) return;
  // They are a group of their own: what is lost or failed is replaced, and not more than there shall be.
  model::TaskGroup group = *work.group;
  group.count = rollout_.state(group.name)->desired_canaries;
  work.canaries = reconcile_group(*situation_.job, group, own, fleet_, now_, context_.options.clock_slack);
  take_note(group, work.canaries);
}

void Planner::open_rollout(const GroupWork& work) {
  if (!work.policy.rolls() || rollout_.state(work.group->name) != nullptr) return;
  if (!work.first_of_version && work.destructive.empty() && work.in_place.empty()) return;
  rollout_.open(*work.group, work.policy, work.destructive.empty() ? 0 : work.policy.canary);
}

/// Off nodes that are drained; in the version that they are while nothing new may begin.
void Planner::move_all(GroupWork& work, Placer& placer) {
  const model::TaskGroup& group = *work.group;
  for (const auto& canary : work.canaries.migrating) move(situation_.job, group, placer, canary);
  for (const auto& old : work.plan.migrating) {
    const auto job = version_of(*old);
    const model::TaskGroup* as_before = job ? job->find_group(group.name) : nullptr;
    if (!rollout_.held(group.name) || job == situation_.job || as_before == nullptr) {
      move(situation_.job, group, placer, old);
      continue;
    }
    Placer another(fleet_, peers_, ask_of(job, *as_before), mix(seed_ ^ hash_text(group.name)), Placer::Use::ranking,
                   quota());
    move(job, *as_before, another, old);
  }
}

/// How many of work.destructive, put in order, may be replaced now. What failed in an earlier version and waits for its
/// time comes before those that run: it joins what is missing.
std::size_t Planner::may_replace(GroupWork& work) {
  const std::string& group = work.group->name;
  if (rollout_.held(group)) return 0;
  const bool watched = rollout_.state(group) != nullptr;
  auto in_flight = static_cast<std::int64_t>(work.plan.missing.size() + plan_.created.size() - work.created_begin);
  std::int64_t working = 0;
  for (const auto* list : {&work.plan.keep, &work.in_place, &work.destructive}) {
    for (const auto& allocation : *list) {
      // One whose node has just fallen silent still says that it runs.
      if (works(*allocation) && standing_of(*allocation, fleet_, now_) != Standing::silenced) ++working;
    }
  }
  for (const auto& allocation : work.plan.keep) {
    if (!rollout_.owns(*allocation)) continue;
    if (allocation->health.healthy == false) return 0;  // the first bad one stops it all
    if (!allocation->health.healthy) ++in_flight;
  }
  for (const auto& allocation : work.in_place) in_flight += allocation->health.healthy == true ? 0 : 1;
  auto& waiting = work.plan.waiting;
  std::move(work.plan.ended.begin(), work.plan.ended.end(), std::back_inserter(waiting));
  work.plan.ended.clear();
  const auto is_new = [&](const Allocation& candidate) { return candidate.job_version == situation_.job->version; };
  const auto outdated = waiting.begin() + put_first(waiting, is_new);
  const bool failing = std::any_of(waiting.begin(), outdated, [&](const auto& row) { return rollout_.owns(*row); });
  if (watched && failing) return 0;
  in_flight += outdated - waiting.begin();
  const auto most =
      watched ? std::max<std::int64_t>(0, work.policy.max_parallel - in_flight) : waiting.end() - outdated;
  const auto taken = std::min<std::int64_t>(most, waiting.end() - outdated);
  for (auto it = outdated; it != outdated + taken; ++it) work.plan.missing.push_back({(*it)->index(), *it, true});
  waiting.erase(outdated, outdated + taken);
  plan_.groups[group].ignore -= taken;
  if (!watched) return work.destructive.size();
  return choose_outdated(work.destructive, work.policy.max_parallel, in_flight + taken, working, work.group->count);
}

namespace {

/// Numbers for canaries, as Nomad chooses them: those of allocations that they may replace, then free ones.
class CanaryNumbers {
 public:
  CanaryNumbers(const std::vector<AllocationRow>& canaries, const std::vector<AllocationRow>& destructive) {
    for (const auto& canary : canaries) used_.insert(canary->index());
    for (const auto& old : destructive) preferred_.insert(old->index());
  }
  void use(std::int64_t index) { used_.insert(index); }
  std::int64_t next() {
    for (const std::int64_t index : preferred_) {
      if (used_.insert(index).second) return index;
    }
    std::int64_t index = 0;
    while (!used_.insert(index).second) ++index;
    return index;
  }

 private:
  std::set<std::int64_t> preferred_, used_;
};

}  // namespace

void Planner::place_canaries(GroupWork& work, Placer& placer) {
  const model::TaskGroup& group = *work.group;
  if (!rollout_.canarying(group.name) || !rollout_.running()) return;
  CanaryNumbers numbers(work.canaries.keep, work.destructive);
  for (const auto& canary : work.canaries.waiting) numbers.use(canary->index());
  std::vector<Missing> missing;
  for (const auto& wanted : work.canaries.missing) {
    if (!wanted.previous) continue;
    numbers.use(wanted.index);
    missing.push_back(wanted);
  }
  for (const auto& canary : work.canaries.migrating) numbers.use(canary->index());
  const auto& there_are = work.canaries;
  const auto there = static_cast<std::int64_t>(there_are.keep.size() + there_are.waiting.size() +
                                               there_are.ended.size() + there_are.migrating.size());
  const std::int64_t wanted = rollout_.state(group.name)->desired_canaries - there;
  while (static_cast<std::int64_t>(missing.size()) < wanted) missing.push_back({numbers.next(), nullptr, false});
  GroupChanges& changes = plan_.groups[group.name];
  for (std::size_t i = 0; i < missing.size(); ++i) {
    if (!fill(situation_.job, group, placer, missing[i])) {
      fail(group, placer, static_cast<std::int64_t>(missing.size() - i));
      break;
    }
    plan_.created.back().health.canary = true;
    --changes.place;
    ++changes.canary;
  }
}

/// The version in which something comes back while nothing new may begin: the one that it was; null: not at all.
tables::Row<model::Job> Planner::earlier_version(const GroupWork& work, const Missing& missing) {
  if (missing.previous) {
    // What the failed rollout brought and could not keep up is not tried again while there is something to go back to.
    const bool gave_up = missing.previous_failed && rollout_.failed() && rollout_.owns(*missing.previous);
    return gave_up && rollout_.stable() ? nullptr : version_of(*missing.previous);
  }
  if (rollout_.stable()) return rollout_.stable();
  if (!work.destructive.empty()) return work.destructive.front()->job;
  return rollout_.failed() ? situation_.job : nullptr;
}

void Planner::fill_as_before(const GroupWork& work) {
  std::map<std::int64_t, std::pair<tables::Row<model::Job>, std::vector<Missing>>> versions;
  for (const auto& wanted : work.plan.missing) {
    const auto job = earlier_version(work, wanted);
    if (!job || job->find_group(work.group->name) == nullptr) {
      ++plan_.groups[work.group->name].ignore;
      continue;
    }
    auto& [row, missing] = versions[job->version];
    row = job;
    missing.push_back(wanted);
  }
  for (const auto& [version, entry] : versions) {
    const auto& [job, missing] = entry;
    const model::TaskGroup& group = *job->find_group(work.group->name);
    Placer placer(fleet_, peers_, ask_of(job, group), mix(seed_ ^ hash_text(group.name)));
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (fill(job, group, placer, missing[i])) continue;
      fail(group, placer, static_cast<std::int64_t>(missing.size() - i));
      break;
    }
  }
}

void Planner::settle_rollout(const GroupWork& work) {
  if (rollout_.state(work.group->name) == nullptr) return;
  Tally tally;
  const auto count = [&](const Allocation& allocation, std::optional<bool> healthy) {
    ++tally.placed;
    if (healthy) ++(*healthy ? tally.healthy : tally.unhealthy);
    if (allocation.health.canary) tally.canaries.push_back(allocation.id);
  };
  std::set<std::string_view> superseded;
  auto unfilled = static_cast<std::int64_t>(work.plan.missing.size());
  const std::size_t end = std::min(work.created_end, plan_.created.size());
  for (std::size_t i = work.created_begin; i < end; ++i) {
    const Allocation& row = plan_.created[i];
    if (!row.previous_allocation.empty()) superseded.insert(row.previous_allocation);
    if (row.job_version != situation_.job->version) continue;
    count(row, std::nullopt);
    if (!row.health.canary) --unfilled;
  }
  const auto go_on = [&](const std::vector<AllocationRow>& rows, bool to_be_changed) {
    for (const auto& row : rows) {
      if (superseded.contains(row->id)) continue;
      // Some are stopped though there was no room elsewhere.
      const bool stopped = row->transition.migrate && has_to_go(*row, fleet_, now_);
      if (rollout_.owns(*row) && !stopped)
        count(*row, row->health.healthy);
      else if (stopped || to_be_changed)
        ++tally.outstanding;
    }
  };
  for (const auto* rows : {&work.destructive, &work.plan.migrating}) {
    go_on(*rows, true);
    // What replaced them filled no gap.
    for (const auto& row : *rows) unfilled += superseded.contains(row->id) ? 1 : 0;
  }
  go_on(work.plan.keep, false);
  go_on(work.plan.waiting, true);
  go_on(work.plan.ended, true);
  for (const auto* rows : {&work.canaries.keep, &work.canaries.waiting, &work.canaries.ended, &work.canaries.migrating})
    go_on(*rows, false);
  for (const auto& allocation : work.in_place)
    count(*allocation, allocation->health.healthy == true ? allocation->health.healthy : std::nullopt);
  tally.outstanding += std::max<std::int64_t>(0, unfilled);
  rollout_.settle(work.group->name, std::move(tally));
}

}  // namespace underway::scheduler
