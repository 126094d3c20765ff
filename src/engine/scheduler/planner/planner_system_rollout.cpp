#include <limits>

#include "scheduler/planner/system_work.hpp"
#include "scheduler/reconcile/update.hpp"

namespace underway::scheduler {

/// A change of what runs, or the first version that runs anywhere, is watched. Its canaries are a part of the nodes.
void Planner::open_system_rollout(SystemWork& work) {
  if (!work.policy.rolls() || rollout_.state(work.group.name) != nullptr) return;
  std::int64_t there = 0;
  bool outdated = false, destructive = false;
  for (const auto& [slot, node] : work.here) {
    if (!node.live) continue;
    ++there;
    if (node.live->job_version == situation_.job->version) continue;
    outdated = true;
    if (rollout_.left_behind(*node.live)) continue;  // its place is no trial
    destructive |= !node.live->job || tasks_updated(*node.live->job, *situation_.job, work.group.name);
  }
  std::int64_t feasible = there;
  for (const Slot slot : fleet_.ordered()) {
    const auto it = work.here.find(slot);
    const bool empty = it == work.here.end() || !it->second.live;
    if (empty && work.placer.verdict(slot) == ShapeIndex::kFeasible) ++feasible;
  }
  if (feasible == 0 || (!work.first_of_version && !outdated)) return;
  rollout_.open(work.group, work.policy, destructive ? (work.policy.canary * feasible + 99) / 100 : 0);
}

/// Those of other versions, as many as may be replaced now: what a failed rollout left behind, all of it; what failed
/// before; what does not work; then in the order of the nodes.
void Planner::replace_outdated(SystemWork& work) {
  const bool watched = rollout_.state(work.group.name) != nullptr || rollout_.current() != nullptr;
  const bool canarying = rollout_.canarying_now(work.group.name);
  const bool blocked = watched && (work.failing || (rollout_.held(work.group.name) && !canarying));
  auto most = blocked ? 0 : std::numeric_limits<std::int64_t>::max();
  if (canarying && !blocked)
    most = rollout_.state(work.group.name)->desired_canaries - static_cast<std::int64_t>(work.tally.canaries.size());
  replace_left_behind(work);
  most -= replace_failed_before(work, watched, canarying, most);

  auto may = static_cast<std::int64_t>(work.outdated.size());
  if (watched && most > 0)
    may = static_cast<std::int64_t>(
        choose_outdated(work.outdated, work.policy.max_parallel, work.in_flight, work.working, work.desired));
  may = std::min(may, most);
  GroupChanges& changes = plan_.groups[work.group.name];
  const auto outdated = static_cast<std::int64_t>(work.outdated.size());
  for (std::int64_t i = 0; i < outdated; ++i) {
    const auto& old = work.outdated[static_cast<std::size_t>(i)];
    if (i >= may) {
      ++changes.ignore;
    } else if (replace_on(work, fleet_.find(old->node_id), old)) {
      plan_.created.back().health.canary = canarying;
      ++(canarying ? changes.canary : changes.destructive);
      continue;
    }
    ++work.tally.outstanding;
  }
}

/// A node that a failed rollout left without its service waits for nobody: no canary and no turn.
void Planner::replace_left_behind(SystemWork& work) {
  const auto live = put_first(work.outdated, [&](const model::Allocation& row) { return rollout_.left_behind(row); });
  const auto others = work.outdated.begin() + live;
  for (auto it = work.outdated.begin(); it != others; ++it) {
    if (replace_on(work, fleet_.find((*it)->node_id), *it)) {
      ++plan_.groups[work.group.name].destructive;
      ++work.in_flight;
    } else {
      ++work.tally.outstanding;
    }
  }
  work.outdated.erase(work.outdated.begin(), others);
  std::erase_if(work.failed_before, [&](const SystemWork::There& there) {
    if (!rollout_.left_behind(*there.row)) return false;
    place_on(work, there.slot, there.row);
    return true;
  });
}

/// At most `most` of what failed in earlier versions; returns how many. While canaries prove themselves, the others
/// come back as they were.
std::int64_t Planner::replace_failed_before(SystemWork& work, bool watched, bool canarying, std::int64_t most) {
  const std::int64_t room = std::max<std::int64_t>(0, work.policy.max_parallel - work.in_flight);
  const std::int64_t may = watched ? std::min(room, most) : most;
  std::int64_t done = 0;
  for (const auto& there : work.failed_before) {
    if (done < may) {
      if (!place_on(work, there.slot, there.row)) continue;
      plan_.created.back().health.canary = canarying;
      ++done;
    } else if (canarying) {
      try_again(work, there.slot, there.row);
    } else {
      ++plan_.groups[work.group.name].ignore;
      ++work.tally.outstanding;
    }
  }
  return done;
}

/// While nothing new may begin, a node gets back the version that it had, and one that comes new the last stable one.
void Planner::restore_on_nodes(SystemWork& work) {
  std::map<std::int64_t, std::pair<tables::Row<model::Job>, std::vector<SystemWork::There>>> versions;
  for (const auto& there : work.held) {
    const bool as_it_was = there.row && !there.give_up;
    tables::Row<model::Job> job = as_it_was ? version_of(*there.row) : rollout_.stable();
    if (!job && !work.outdated.empty()) job = work.outdated.front()->job;
    if (!job && rollout_.failed()) job = situation_.job;
    if (!job || job->find_group(work.group.name) == nullptr) {
      ++plan_.groups[work.group.name].ignore;
      continue;
    }
    auto& [row, list] = versions[job->version];
    row = job;
    list.push_back(there);
  }
  for (const auto& [version, entry] : versions) {
    const auto& [job, list] = entry;
    const model::TaskGroup& group = *job->find_group(work.group.name);
    Placer placer(fleet_, peers_, Ask(job, group), mix(seed_ ^ hash_text(group.name)), Placer::Use::visiting, quota());
    for (const auto& [slot, previous, given_up] : list) {
      ++work.tally.outstanding;
      const auto choice = placer.place_on(slot);
      if (!choice) {
        placer.judge(slot, work.metric);
        note_quota(placer, work.metric);
        ++plan_.evaluation.queued[group.name];
        continue;
      }
      create(job, group, 0, *choice, placer.metric(*choice), previous.get());
      if (given_up)
        stop({previous, kRescheduled, false}, plan_.created.back().id);
      else if (previous)
        follow(previous, work.reschedule);
      ++plan_.groups[group.name].place;
    }
  }
}

void Planner::settle_system_rollout(SystemWork& work) {
  if (rollout_.state(work.group.name) == nullptr) return;
  for (std::size_t i = work.created_begin; i < plan_.created.size(); ++i) {
    const model::Allocation& row = plan_.created[i];
    if (row.job_version != situation_.job->version) continue;
    ++work.tally.placed;
    if (row.health.canary) work.tally.canaries.push_back(row.id);
  }
  rollout_.settle(work.group.name, std::move(work.tally));
}

}  // namespace underway::scheduler
