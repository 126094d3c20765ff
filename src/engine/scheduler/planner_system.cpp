#include "scheduler/detail/planner.hpp"
#include "scheduler/detail/reschedule.hpp"

namespace underway::scheduler::detail {

using model::ClientStatus;
using model::JobType;

/// What a node has of a system group.
struct Planner::OnNode {
  AllocationRow live;
  AllocationRow failed;   ///< of this version, not stopped
  bool finished = false;  ///< sysbatch: ran to its end, well or not
};

/// Whether only the node that the evaluation is about needs a look.
bool Planner::one_node() const {
  return system() && wanted() && evaluation_.triggered_by == model::EvalTrigger::node_update &&
         !evaluation_.node_id.empty();
}

void Planner::plan_system() {
  const model::Job& job = *situation_.job;
  std::unordered_map<std::string_view, std::vector<AllocationRow>> by_group;
  for (const auto& allocation : situation_.allocations) {
    if (one_node() && allocation->node_id != evaluation_.node_id) continue;
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

void Planner::plan_system_group(const model::TaskGroup& group, const std::vector<AllocationRow>& allocations) {
  const model::Job& job = *situation_.job;
  std::unordered_map<Slot, OnNode> here;
  here.reserve(allocations.size());
  GroupChanges& changes = plan_.groups[group.name];
  for (const auto& allocation : allocations) {
    if (allocation->server_terminal() && job.type != JobType::sysbatch) continue;
    const Slot slot = fleet_.find(allocation->node_id);
    if (slot == kNoSlot || !fleet_.node(slot).node || fleet_.node(slot).node->status == model::NodeStatus::down)
      continue;
    OnNode& found = here[slot];
    if (!allocation->terminal()) {
      if (!stays(allocation, changes)) continue;
      if (!found.live) {
        found.live = allocation;
        peers_.add(slot, group.name);
        continue;
      }
      ++changes.stop;
      stop_and_free({allocation, kNotNeeded, false});
    } else if (!of_earlier_job(*allocation, job)) {
      const bool ended =
          allocation->client_status == ClientStatus::complete || allocation->client_status == ClientStatus::failed;
      if (job.type == JobType::sysbatch)
        found.finished |= ended;
      else if (allocation->client_status == ClientStatus::failed &&
               (!found.failed || found.failed->create_time < allocation->create_time))
        found.failed = allocation;
    }
  }
  Placer placer(fleet_, peers_, Ask(situation_.job, group), mix(seed_ ^ hash_text(group.name)), Placer::Use::visiting);
  static const OnNode nothing;
  model::AllocMetric metric;
  const auto visit_slot = [&](Slot slot) {
    const auto it = here.find(slot);
    visit(group, placer, slot, it == here.end() ? nothing : it->second, metric);
  };
  if (one_node()) {
    const Slot slot = fleet_.find(evaluation_.node_id);
    if (slot != kNoSlot && fleet_.node(slot).node) visit_slot(slot);
  } else {
    for (const Slot slot : fleet_.ordered()) visit_slot(slot);
  }
  // A job that no node can take is worth a word; one that some nodes are not meant for is not.
  const bool nowhere = changes.place + changes.ignore + changes.in_place + changes.destructive == 0;
  const bool exhausted = plan_.evaluation.queued[group.name] > 0;
  if (!exhausted && (!nowhere || one_node())) return;
  if (!exhausted) metric = placer.failure();
  placer.add_class_eligibility(eligibility_);
  describe_collision(group, placer);
  plan_.evaluation.failed_groups[group.name] = std::move(metric);
}

void Planner::visit(const model::TaskGroup& group, Placer& placer, Slot slot, const OnNode& here,
                    model::AllocMetric& metric) {
  GroupChanges& changes = plan_.groups[group.name];
  if (here.live) {
    if (!placer.in_scope(slot)) {
      ++changes.stop;
      return stop_and_free({here.live, kNotNeeded, false});
    }
    const bool current = here.live->job_version == situation_.job->version;
    if (current || !fleet_.node(slot).ready()) {
      ++changes.ignore;
      return;
    }
    if (!placer.suits(slot)) {
      ++changes.stop;
      return stop_and_free({here.live, kNotNeeded, false});
    }
    const bool same = here.live->job && !tasks_updated(*here.live->job, *situation_.job, group.name);
    if (same) return update_in_place(here.live);
    return replace_on(group, placer, slot, here.live, metric);
  }
  if (here.finished) {
    ++changes.ignore;
    return;
  }
  const std::int16_t verdict = placer.verdict(slot);
  if (verdict == ShapeIndex::kNotReady || verdict == ShapeIndex::kOutOfScope) return;
  ++metric.nodes_evaluated;
  ++metric.nodes_in_pool;
  ++metric.nodes_available[fleet_.node(slot).node->datacenter];
  if (verdict != ShapeIndex::kFeasible) return placer.judge(slot, metric);
  const auto policy = reschedule_policy(*situation_.job, group);
  if (here.failed) {
    const auto when = replacement_time(*here.failed, policy);
    if (when && *when > now_ + context_.options.clock_slack.count()) {
      next_attempt_ = earlier(next_attempt_, *when);
      waiting_.push_back(here.failed);
      ++changes.ignore;
      return;
    }
  }
  const auto choice = placer.place_on(slot);
  if (!choice) {
    placer.judge(slot, metric);
    ++plan_.evaluation.queued[group.name];
    return;
  }
  const std::string next = create(group, 0, *choice, placer.metric(*choice), here.failed.get());
  if (here.failed) {
    plan_.created.back().reschedules = reschedules_after(*here.failed, policy, now_);
    stop({here.failed, kRescheduled, false}, next);
  }
  ++changes.place;
}

/// As replace(), but on this node only.
void Planner::replace_on(const model::TaskGroup& group, Placer& placer, Slot slot, const AllocationRow& old,
                         model::AllocMetric& metric) {
  placer.release(*old);
  const auto choice = placer.place_on(slot);
  if (!choice) {
    ++metric.nodes_evaluated;
    placer.judge(slot, metric);
    placer.retake(*old);
    ++plan_.evaluation.queued[group.name];
    ++plan_.groups[group.name].ignore;
    return;
  }
  --live_;
  const std::string next = create(group, 0, *choice, placer.metric(*choice), old.get());
  stop({old, kUpdating, false}, next);
  ++plan_.groups[group.name].destructive;
}

}  // namespace underway::scheduler::detail
