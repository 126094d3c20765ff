#include "scheduler/planner/planner.hpp"

#include "base/allowance.hpp"
#include "scheduler/feasibility/volumes.hpp"
#include "scheduler/reconcile/reschedule.hpp"
#include "scheduler/reconcile/update.hpp"

#include <set>

namespace underway::scheduler {

using model::Allocation;
using model::ClientStatus;
using model::EvalStatus;
using model::EvalTrigger;
using model::JobType;

namespace {

/// For who plans on an allowance: a placement takes some 10 µs.
constexpr std::uint64_t kStepsOfPlacement = 100;

}  // namespace

Planner::Planner(const Situation& situation, Fleet& fleet, const model::Evaluation& evaluation, const Context& context)
    : situation_(situation),
      fleet_(fleet.index()),
      evaluation_(evaluation),
      context_(context),
      start_(fleet_.mark()),
      now_(unix_nanos(context.now)),
      seed_(hash_text(evaluation.id)),
      peers_(fleet_),
      rollout_(situation, context),
      preemption_(fleet_, situation) {
  if (situation.quota) quota_.emplace(fleet_, *situation.quota);
  plan_.job = situation.job;
  plan_.evaluation = evaluation;
  // One that was blocked still tells of its last outcome.
  plan_.evaluation.failed_groups.clear();
  plan_.evaluation.queued.clear();
  plan_.evaluation.class_eligibility.clear();
  plan_.evaluation.escaped_class = false;
  plan_.evaluation.quota_limit_reached.clear();
  plan_.evaluation.status_description.clear();
  plan_.evaluation.blocked_eval.clear();
  plan_.evaluation.next_eval.clear();
  plan_.evaluation.wait_until = 0;
}

bool Planner::system() const {
  const JobType type = situation_.job ? situation_.job->type : evaluation_.type;
  return type == JobType::system || type == JobType::sysbatch;
}

Plan Planner::run() {
  for (const auto& allocation : situation_.allocations) {
    if (!allocation->terminal()) ++live_;
  }
  if (!wanted())
    stop_all();
  else if (system())
    plan_system();
  else
    plan_groups();
  conclude();
  return std::move(plan_);
}

void Planner::stop_all() {
  rollout_.cancel();
  for (const auto& allocation : situation_.allocations) {
    if (allocation->terminal()) continue;
    ++plan_.groups[allocation->group].stop;
    stop_unwanted(allocation);
  }
}

void Planner::stop_unwanted(const AllocationRow& allocation) {
  const bool gone = lost(*allocation);
  stop_and_free({allocation, gone ? kLost : kNotNeeded, gone});
}

void Planner::stop(const Stop& stop, const std::string& next) {
  Allocation row = *stop.allocation;
  row.desired_status = model::DesiredStatus::stop;
  row.desired_description = stop.description;
  row.transition.with_machines = false;  // unless somebody takes them in: move()
  if (stop.lost) {
    row.client_status = ClientStatus::lost;
    row.client_description = "the node is down";
  }
  if (row.client_status != ClientStatus::unknown) row.unknown_since = 0;
  row.next_allocation = next;
  row.modify_time = now_;
  row.alloc_modify_index = tables::Tables::kThisRevision;
  plan_.stopped.push_back(std::move(row));
}

void Planner::stop_and_free(const Stop& ended) {
  stop(ended);
  if (ended.allocation->terminal()) return;
  fleet_.give(*ended.allocation);
  if (quota_) quota_->give(*ended.allocation);
  --live_;
}

void Planner::update_in_place(const AllocationRow& allocation) {
  Allocation row = *allocation;
  row.job = situation_.job;
  row.job_version = situation_.job->version;
  row.unknown_since = 0;
  row.eval_id = evaluation_.id;
  if (rollout_.state(row.group) != nullptr && !rollout_.owns(row)) {
    row.deployment_id = rollout_.current()->id;
    // The same processes go on: what was found well still is. A bad verdict was about the old version.
    if (!row.health.healthy.value_or(false)) row.health = {};
    row.health.canary = false;  // it was one of another rollout
  }
  row.modify_time = now_;
  row.alloc_modify_index = tables::Tables::kThisRevision;
  ++plan_.groups[row.group].in_place;
  plan_.updated.push_back(std::move(row));
}

/// The job as the allocation runs it. The row of the current version may have been written anew since: it is that one.
tables::Row<model::Job> Planner::version_of(const Allocation& allocation) const {
  const bool current = allocation.job && allocation.job->version == situation_.job->version &&
                       !of_earlier_job(allocation, *situation_.job);
  return current ? situation_.job : allocation.job;
}

Allocation& Planner::create(const tables::Row<model::Job>& version, const model::TaskGroup& group, std::int64_t index,
                            const Choice& choice, model::AllocMetric metric, const Allocation* previous) {
  const model::Job& job = *version;
  if (template_of_ != &group) {
    template_ = Allocation{};
    template_.eval_id = evaluation_.id;
    template_.ns = job.ns;
    template_.job_id = job.id;
    template_.job_version = job.version;
    template_.job = version;
    if (version == situation_.job && rollout_.state(group.name) != nullptr)
      template_.deployment_id = rollout_.current()->id;
    template_.group = group.name;
    template_.resources.disk_mb = group.ephemeral_disk.size_mb;
    for (const auto& task : group.tasks)
      template_.resources.tasks[task.name] = {
          .cpu = task.resources.cpu,
          .memory_mb = task.resources.memory_mb,
          .memory_max_mb = situation_.rules.memory_beyond ? task.resources.memory_max_mb : 0};
    template_.create_time = template_.modify_time = now_;
    template_.alloc_modify_index = tables::Tables::kThisRevision;
    template_of_ = &group;
  }
  Allocation& row = plan_.created.emplace_back(template_);
  const model::Node& node = *fleet_.node(choice.slot).node;
  row.id = context_.ids.uuid();
  row.name = model::allocation_name(job.id, group.name, index);
  row.node_id = node.id;
  row.node_name = node.name;
  row.resources.ports = choice.ports.ports;
  if (choice.held) {
    for (const auto& held : choice.held->tasks) {
      model::TaskResources& task = row.resources.tasks[held.task];
      if (!held.cores.empty()) task.cpu = held.cpu;
      task.cores = held.cores;
      task.devices = held.devices;
    }
  }
  row.metrics = std::move(metric);
  if (previous != nullptr) {
    row.previous_allocation = previous->id;
    // Machines that were still on their way to it come here instead.
    if (previous->awaits_machines())
      row.arrival = model::AllocArrival{.from = previous->arrival->from, .origin = previous->arrival->origin};
    if (previous->awaits_machines() && previous->sleep && previous->sleep->wanted) row.sleep = previous->sleep;
  }
  if (!system()) {
    for (auto& claim : bind_volumes(situation_.claims, node, group, row, index, context_.ids))
      plan_.claims.push_back(std::move(claim));
  }
  evict(choice.victims, row);
  ++live_;
  return row;
}

std::optional<Choice> Planner::find_place(Placer& placer, const Placer::Hint& hint) {
  Allowance::spend(kStepsOfPlacement);
  auto choice = placer.place(hint);
  if (!choice && situation_.rules.preempts) choice = placer.place_by_force(preemption_, hint);
  return choice;
}

std::optional<Choice> Planner::find_place_on(Placer& placer, Slot slot) {
  Allowance::spend(kStepsOfPlacement);
  auto choice = placer.place_on(slot);
  if (!choice && situation_.rules.preempts) choice = placer.place_on_by_force(preemption_, slot);
  return choice;
}

void Planner::follow(const AllocationRow& previous, const model::ReschedulePolicy& policy) {
  Allocation& next = plan_.created.back();
  if (!previous->server_terminal() && previous->client_status == ClientStatus::failed) {
    next.reschedules = reschedules_after(*previous, policy, now_);
    return stop({previous, kRescheduled, false}, next.id);
  }
  const auto is_previous = [&](const Allocation& row) { return row.id == previous->id; };
  const auto stopped = std::find_if(plan_.stopped.begin(), plan_.stopped.end(), is_previous);
  if (stopped != plan_.stopped.end())
    stopped->next_allocation = next.id;
  else if (previous->server_terminal())  // one that is not heard of may yet come back, and be what goes on
    plan_.noted.emplace_back(*previous).next_allocation = next.id;
}

void Planner::evict(const Victims& victims, Allocation& row) {
  for (const auto& victim : victims) {
    Allocation evicted = *victim;
    evicted.desired_status = model::DesiredStatus::evict;
    evicted.desired_description = fmt::format("Preempted by alloc ID {}", row.id);
    evicted.preempted_by = row.id;
    evicted.unknown_since = 0;
    evicted.modify_time = now_;
    evicted.alloc_modify_index = tables::Tables::kThisRevision;
    row.preempted.push_back(victim->id);
    ++plan_.groups[row.group].preempted;
    plan_.preempted.push_back(std::move(evicted));
  }
}

void Planner::evaluate_evicted() {
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& evicted : plan_.preempted) {
    if (!seen.emplace(evicted.ns, evicted.job_id).second) continue;
    model::Evaluation evaluation;
    evaluation.id = context_.ids.uuid();
    evaluation.ns = evicted.ns;
    evaluation.priority = evicted.job->priority;
    evaluation.type = evicted.job->type;
    evaluation.triggered_by = EvalTrigger::preemption;
    evaluation.job_id = evicted.job_id;
    evaluation.job_modify_index = evicted.job->modify_index;
    evaluation.create_time = evaluation.modify_time = now_;
    plan_.evaluations.push_back(std::move(evaluation));
  }
}

void Planner::fail(const model::TaskGroup& group, Placer& placer, std::int64_t count) {
  auto [it, first] = plan_.evaluation.failed_groups.try_emplace(group.name);
  if (first) {
    it->second = placer.failure();
    note_quota(placer, it->second);
    placer.add_class_eligibility(eligibility_);
    describe_collision(group, placer);
    it->second.coalesced_failures = count - 1;
  } else {
    it->second.coalesced_failures += count;
  }
  plan_.evaluation.queued[group.name] += count;
}

void Planner::note_quota(const Placer& placer, model::AllocMetric& metric) {
  metric.quota_exhausted = placer.lacking_quota();
  if (!metric.quota_exhausted.empty()) plan_.evaluation.quota_limit_reached = situation_.quota->name;
}

void Planner::describe_collision(const model::TaskGroup& group, const Placer& placer) {
  const auto& collision = placer.collision();
  if (!collision) return;
  const auto& [port, slot] = *collision;
  const NodeSlot& entry = fleet_.node(slot);
  std::string holder = "reserved by the node";
  if (situation_.on_node) {
    for (const auto& other : situation_.on_node(entry.id)) {
      const auto& ports = other->resources.ports;
      const auto has = [&](const model::AllocatedPort& held) { return held.value == port->value; };
      if (!other->terminal() && std::any_of(ports.begin(), ports.end(), has))
        holder = fmt::format("taken by allocation {} ({})", other->id.substr(0, 8), other->name);
    }
  }
  plan_.evaluation.status_description = fmt::format("group {}: port {} ({}) on node {} is {}", group.name, port->value,
                                                    port->label, entry.node->name, holder);
}

void Planner::note_unknown(const AllocationRow& allocation) {
  Allocation& row = plan_.noted.emplace_back(*allocation);
  row.client_status = ClientStatus::unknown;
  row.client_description = kLostContact;
  row.unknown_since = row.modify_time = now_;
  row.alloc_modify_index = tables::Tables::kThisRevision;
}

void Planner::note_return(const AllocationRow& allocation) {
  Allocation& row = plan_.noted.emplace_back(*allocation);
  row.unknown_since = 0;
  row.modify_time = now_;
  row.alloc_modify_index = tables::Tables::kThisRevision;
}

void Planner::conclude() {
  model::Evaluation& done = plan_.evaluation;
  done.status = EvalStatus::complete;
  done.modify_time = now_;
  if (situation_.job) {
    for (const auto& group : situation_.job->groups) done.queued.try_emplace(group.name, 0);
  }
  rollout_.conclude(plan_);
  evaluate_evicted();
  conclude_blocked();
  look_again();
  bool open =
      done.status == EvalStatus::blocked || !done.blocked_eval.empty() || !done.next_eval.empty() || next_attempt_ > 0;
  const bool over = !situation_.job || situation_.job->stop;
  for (const auto& other : situation_.evaluations) {
    if (other->id == done.id || other->status != EvalStatus::pending) continue;
    if (over && other->wait_until > 0)
      cancel_waiting(*other);
    else
      open = true;
  }
  if (!situation_.job) return;
  const bool any = !situation_.allocations.empty() || !plan_.created.empty() || open;
  const auto status = status_of(situation_.job.get(), live_ > 0, open, any);
  if (status != situation_.job->status) plan_.job_status = status;
}

/// What was to be looked at later is of no more interest.
void Planner::cancel_waiting(model::Evaluation evaluation) {
  evaluation.status = EvalStatus::canceled;
  evaluation.status_description = "the job is stopped";
  evaluation.modify_time = now_;
  plan_.evaluations.push_back(std::move(evaluation));
}

void Planner::look_again() {
  const std::int64_t due = earlier(next_attempt_, next_loss_);
  if (due == 0) return;
  model::Evaluation& done = plan_.evaluation;
  // One that is due about then is enough: when it runs it sees to the next.
  const std::int64_t soon = due + Duration(std::chrono::seconds(5)).count();
  const auto covers = [&](const tables::Row<model::Evaluation>& other) {
    return other->id != done.id && other->status == EvalStatus::pending && other->wait_until > 0 &&
           other->wait_until <= soon;
  };
  const auto& others = situation_.evaluations;
  const auto covering = std::find_if(others.begin(), others.end(), covers);
  std::string id;
  if (covering != others.end()) {
    id = (*covering)->id;
  } else {
    model::Evaluation later;
    later.id = id = context_.ids.uuid();
    later.ns = done.ns;
    later.priority = done.priority;
    later.type = done.type;
    later.job_id = done.job_id;
    const bool replaces = due == next_attempt_;
    later.triggered_by = replaces ? EvalTrigger::alloc_failure : EvalTrigger::max_disconnect_timeout;
    later.status_description = replaces ? "created for delayed rescheduling" : "created for delayed disconnect timeout";
    later.previous_eval = done.id;
    // What is due already and could not be done now is not tried in a hot loop.
    later.wait_until = std::max(due, now_ + Duration(std::chrono::seconds(1)).count());
    later.create_time = later.modify_time = now_;
    done.next_eval = later.id;
    plan_.evaluations.push_back(std::move(later));
  }
  for (auto& row : plan_.noted) {
    if (row.client_status == ClientStatus::unknown) row.follow_up_eval = id;
  }
  for (const auto& allocation : waiting_) {
    if (allocation->follow_up_eval == id) continue;
    Allocation& row = plan_.noted.emplace_back(*allocation);
    row.follow_up_eval = id;
  }
}

void Planner::cancel(const model::Evaluation& blocked, std::string why) {
  model::Evaluation row = blocked;
  row.status = EvalStatus::canceled;
  row.status_description = std::move(why);
  row.modify_time = now_;
  plan_.evaluations.push_back(std::move(row));
}

namespace {

constexpr const char* kBlockedDescription = "created to place remaining allocations";

}  // namespace

/// Keeps at most one blocked evaluation per job, and none when nothing is left to place.
void Planner::conclude_blocked() {
  model::Evaluation& done = plan_.evaluation;
  const bool failed = !done.failed_groups.empty();
  if (!failed && one_node_) return;  // the others may still wait for room on other nodes
  const model::Evaluation* existing = nullptr;
  const bool woken = done.triggered_by == EvalTrigger::queued_allocs;
  for (const auto& other : situation_.evaluations) {
    if (other->id == done.id || other->status != EvalStatus::blocked) continue;
    if (!failed)
      cancel(*other, "everything could be placed");
    else if (woken || existing != nullptr)
      cancel(*other, "another evaluation of the job is blocked already");
    else
      existing = other.get();
  }
  if (!failed) return;
  if (woken) {
    done.status = EvalStatus::blocked;
    if (done.status_description.empty()) done.status_description = kBlockedDescription;
    done.class_eligibility = std::move(eligibility_.class_eligibility);
    done.escaped_class = eligibility_.escaped_class;
    if (done.escaped_class) done.class_eligibility.clear();
    return;
  }
  model::Evaluation blocked = existing != nullptr ? *existing : model::Evaluation{};
  if (existing == nullptr) {
    blocked.id = context_.ids.uuid();
    blocked.ns = done.ns;
    blocked.priority = done.priority;
    blocked.type = done.type;
    blocked.job_id = done.job_id;
    blocked.triggered_by = EvalTrigger::queued_allocs;
    blocked.status = EvalStatus::blocked;
    blocked.previous_eval = done.id;
    blocked.create_time = now_;
  }
  // It tells why it waits by itself: the evaluation that found out is collected long before.
  std::string description = done.status_description.empty() ? kBlockedDescription : done.status_description;
  const bool same_reasons = blocked.queued == done.queued && blocked.quota_limit_reached == done.quota_limit_reached &&
                            blocked.status_description == description &&
                            describe::equal(blocked.failed_groups, done.failed_groups);
  blocked.status_description = std::move(description);
  blocked.failed_groups = done.failed_groups;
  blocked.queued = done.queued;
  blocked.job_modify_index = done.job_modify_index;
  blocked.quota_limit_reached = done.quota_limit_reached;
  blocked.class_eligibility = std::move(eligibility_.class_eligibility);
  blocked.escaped_class = eligibility_.escaped_class;
  if (blocked.escaped_class) blocked.class_eligibility.clear();
  done.blocked_eval = blocked.id;
  if (existing != nullptr && same_reasons && existing->class_eligibility == blocked.class_eligibility &&
      existing->escaped_class == blocked.escaped_class && existing->job_modify_index == blocked.job_modify_index)
    return;
  blocked.modify_time = now_;
  plan_.evaluations.push_back(std::move(blocked));
}

}  // namespace underway::scheduler
