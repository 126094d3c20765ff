#include "server/job/dependencies.hpp"

#include "server/gate_cache.hpp"
#include "server/node/move_decisions.hpp"

namespace underway::server {

using model::Allocation;
using model::DependencyScope;
using model::OnFailure;

namespace {

bool works(const Allocation& allocation) {
  return allocation.is_ready() && allocation.client_status == model::ClientStatus::running;
}

bool works_somewhere(const tables::Tables& tables, const std::string& ns, const std::string& job_id) {
  const auto& rows = tables.allocations_of_job(ns, job_id);
  return std::any_of(rows.begin(), rows.end(), [](const auto& row) { return works(*row); });
}

bool has_started(const Allocation& allocation) {
  if (allocation.client_status != model::ClientStatus::pending) return true;
  return std::any_of(allocation.task_states.begin(), allocation.task_states.end(),
                     [](const auto& task) { return task.second.started_at != 0; });
}

/// Asked to stop, and not known to have done so.
bool is_stopping(const Allocation& allocation) { return allocation.server_terminal() && !allocation.client_terminal(); }

/// Calls `visit(dependency)` for what the job says, then what the group does.
template <class Visit>
void each_dependency(const Allocation& allocation, Visit visit) {
  if (!allocation.job) return;
  for (const auto& dependency : allocation.job->depends_on) visit(dependency);
  const auto* group = allocation.job->find_group(allocation.group);
  if (group == nullptr) return;
  for (const auto& dependency : group->depends_on) visit(dependency);
}

/// Whether the group says of the port that others may have it too (`ignore_collision`).
bool may_be_shared(const Allocation& allocation, const model::AllocatedPort& port) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return false;
  for (const auto& network : group->networks) {
    for (const auto& asked : network.reserved_ports)
      if (asked.label == port.label) return asked.ignore_collision;
  }
  return false;
}

/// What it replaces on this node, known by its name, may still hold its ports and files; and so may what makes way for
/// it. Room is free in the books from the decision to stop; what cannot be shared is free once it has stopped.
const Allocation* ending_predecessor(GateCache& cache, const Allocation& allocation) {
  for (const auto* other : cache.stopping_on(allocation.node_id)) {
    const bool predecessor = other->name == allocation.name && other->ns == allocation.ns;
    if (predecessor || other->preempted_by == allocation.id || exclude_each_other(allocation, *other)) return other;
  }
  return nullptr;
}

std::string describe_unmet(const tables::Tables& tables, const Allocation& allocation,
                           const model::Dependency& dependency) {
  const auto job = tables.find_job(allocation.ns, dependency.job);
  if (!job) return fmt::format("'{}', which is not registered", dependency.job);
  if (job->stop) return fmt::format("'{}', which is stopped", dependency.job);
  return fmt::format("'{}' {}", dependency.job,
                     dependency.scope == DependencyScope::node ? "on this node" : "to be healthy");
}

/// Of what must have ended first, wherever it is.
std::string describe_end(const tables::Tables& tables, const Allocation& other) {
  const auto node = tables.find_node(other.node_id);
  auto it = fmt::format("allocation {} to stop on node {}", other.id.substr(0, 8), other.node_name);
  if (!node || !node->silent()) return it;
  return fmt::format("{}, which is not heard of: if it is off, say so with `underway node purge {}`", it,
                     other.node_name);
}

Gate gate_of_sleeping(Gate gate) {
  gate.start = false;
  gate.pause = gate.suspend = true;
  gate.waiting_for = "being woken";
  return gate;
}

/// Its machines are to go on elsewhere. They run, or sleep, as if it were wanted, until they sleep and there is
/// somebody whom they can be given to; without a destination they wait for the next one, unless their job has ended.
Gate gate_of_leaving(const tables::Tables& tables, const Allocation& allocation) {
  const auto destination = destination_of(tables, allocation);
  const auto job = tables.find_job(allocation.ns, allocation.job_id);
  if (!destination && (!job || job->stop || job->find_group(allocation.group) == nullptr)) return {};
  Gate gate;
  gate.stop = false;
  if (!allocation.sleep || !allocation.sleep->wanted) return gate;
  if (allocation.sleep->asleep && destination && destination->arrival->phase == model::ArrivalPhase::ready) return {};
  return gate_of_sleeping(std::move(gate));
}

Gate gate_of_wanted(GateCache& cache, const Allocation& allocation, const Guard* guard) {
  const auto& tables = cache.tables();
  Gate gate;
  if (guard != nullptr && guard->concerns(allocation)) {
    if (auto why = guard->holds(tables, allocation)) {
      gate.start = false;
      gate.waiting_for = std::move(*why);
      return gate;
    }
  }
  if (allocation.sleep && allocation.sleep->wanted) return gate_of_sleeping(std::move(gate));
  if (allocation.awaits_machines()) {
    gate.start = false;
    gate.waiting_for = fmt::format("the machines of allocation {}", allocation.arrival->from.substr(0, 8));
    return gate;
  }
  // It goes on, and nothing begins: those who speak to it wait for it as it stands there.
  const bool started = has_started(allocation);
  if (!started && allocation.arrival && allocation.arrival->live &&
      allocation.arrival->phase == model::ArrivalPhase::arrived)
    return gate;
  // Its node is back, perhaps without it: until one of the two is chosen it is not begun anew.
  if (allocation.unknown_since > 0 && allocation.job && replaced(tables, *allocation.job, allocation)) {
    gate.start = false;
    gate.waiting_for = "one of those of its name to be chosen";
    return gate;
  }
  if (const auto* other = model::runs_once(allocation) ? cache.earlier_that_may_run(allocation) : nullptr) {
    gate.start = false;
    gate.waiting_for = describe_end(tables, *other);
    return gate;
  }
  if (!started) {
    if (const auto* other = ending_predecessor(cache, allocation)) {
      gate.start = false;
      gate.waiting_for = fmt::format("allocation {} to stop", other->id.substr(0, 8));
      return gate;
    }
  }
  each_dependency(allocation, [&](const model::Dependency& dependency) {
    const bool first = !started && allocation.previous_allocation.empty();
    if (dependency.on_failure == OnFailure::ignore && !first) return;
    const bool met = dependency.scope == DependencyScope::node
                         ? cache.works_on(allocation.node_id, allocation.ns, dependency.job)
                         : cache.works_somewhere(allocation.ns, dependency.job);
    if (met) return;
    if (gate.start) gate.waiting_for = describe_unmet(tables, allocation, dependency);
    gate.start = false;
    gate.pause = gate.pause || (started && dependency.on_failure == OnFailure::stop);
  });
  return gate;
}

/// Those who depend on it stop first, when they are to stop as well. A node that is not heard of holds up nobody.
Gate gate_of_unwanted(const tables::Tables& tables, Dependents& dependents, const Allocation& allocation) {
  Gate gate;
  for (const auto& edge : dependents.of(tables, allocation.ns, allocation.job_id)) {
    const bool here = edge.dependency.scope == DependencyScope::node;
    const auto& rows =
        here ? tables.allocations_on_node(allocation.node_id) : tables.allocations_of_job(allocation.ns, edge.job->id);
    for (const auto& row : rows) {
      const bool of_edge =
          row->job_id == edge.job->id && row->ns == allocation.ns && (edge.group.empty() || edge.group == row->group);
      if (!of_edge || !is_stopping(*row) || row->client_status == model::ClientStatus::unknown) continue;
      const auto node = tables.find_node(row->node_id);
      if (!node || node->status != model::NodeStatus::ready) continue;
      gate.stop = false;
      gate.start = has_started(allocation);  // what never ran is not begun for its last moments
      gate.waiting_for = fmt::format("'{}' to stop first", edge.job->id);
      return gate;
    }
  }
  return gate;
}

}  // namespace

bool exclude_each_other(const Allocation& a, const Allocation& b) {
  for (const auto& port : a.resources.ports) {
    for (const auto& other : b.resources.ports)
      if (port.value == other.value && port.host_ip == other.host_ip && !may_be_shared(a, port)) return true;
  }
  const auto shared = [](const auto& ours, const auto& theirs) {
    return std::any_of(ours.begin(), ours.end(),
                       [&](const auto& own) { return std::find(theirs.begin(), theirs.end(), own) != theirs.end(); });
  };
  for (const auto& [name, task] : a.resources.tasks) {
    for (const auto& [other_name, other] : b.resources.tasks) {
      if (shared(task.cores, other.cores)) return true;
      for (const auto& device : task.devices) {
        for (const auto& held : other.devices) {
          if (device.vendor == held.vendor && device.type == held.type && device.name == held.name &&
              shared(device.ids, held.ids))
            return true;
        }
      }
    }
  }
  return false;
}

bool replaced(const tables::Tables& tables, const model::Job& job, const Allocation& lost) {
  const bool one_per_node = job.type == model::JobType::system || job.type == model::JobType::sysbatch;
  const auto& peers =
      one_per_node ? tables.allocations_on_node(lost.node_id) : tables.allocations_of_job(job.ns, job.id);
  return std::any_of(peers.begin(), peers.end(), [&](const auto& peer) {
    const bool canaries_alike = peer->health.canary == lost.health.canary;  // else they stand beside each other
    return !peer->terminal() && peer->ns == lost.ns && peer->name == lost.name && peer->id != lost.id && canaries_alike;
  });
}

void Dependents::refresh(const tables::Tables& tables) {
  const auto now = tables.revision_of({tables::Topic::jobs, ""});
  if (std::exchange(built_at_, now) == now) return;
  edges_.clear();
  for (const auto& job : tables.jobs()) {
    for (const auto& dependency : job->depends_on) edges_[{job->ns, dependency.job}].push_back({job, "", dependency});
    for (const auto& group : job->groups) {
      for (const auto& dependency : group.depends_on)
        edges_[{job->ns, dependency.job}].push_back({job, group.name, dependency});
    }
  }
}

const std::vector<Dependents::Edge>& Dependents::of(const tables::Tables& tables, const std::string& ns,
                                                    const std::string& job_id) {
  static const std::vector<Edge> kNone;
  refresh(tables);
  const auto it = edges_.find({ns, job_id});
  return it == edges_.end() ? kNone : it->second;
}

void Dependents::collect(const tables::Tables& tables, const Event& event, std::set<std::string>& nodes) {
  const auto& edges = of(tables, event.ns, event.job_id);
  if (!edges.empty()) {
    // A thousand nodes hear of the one slurmctld that all wait for, and not of the other nodes' munge.
    const bool works_now = works_somewhere(tables, event.ns, event.job_id);
    const auto [known, fresh] = worked_.try_emplace({event.ns, event.job_id}, works_now);
    const bool turned = fresh || std::exchange(known->second, works_now) != works_now;
    for (const auto& edge : edges) {
      if (edge.dependency.scope == DependencyScope::node) {
        nodes.insert(event.node_id);
      } else if (turned) {
        for (const auto& row : tables.allocations_of_job(edge.job->ns, edge.job->id)) {
          if (!row->client_terminal()) nodes.insert(row->node_id);
        }
      }
    }
  }
  if (!event.ended) return;
  // What it depended on may have waited for its end.
  const auto job = tables.find_job(event.ns, event.job_id);
  if (!job) return;
  const auto release = [&](const model::Dependency& dependency) {
    for (const auto& row : tables.allocations_of_job(event.ns, dependency.job)) {
      if (is_stopping(*row)) nodes.insert(row->node_id);
    }
  };
  for (const auto& dependency : job->depends_on) release(dependency);
  for (const auto& group : job->groups) {
    for (const auto& dependency : group.depends_on) release(dependency);
  }
}

const GateCache::OnNode& GateCache::on(const std::string& node_id) {
  const auto [it, first] = nodes_.try_emplace(node_id);
  if (!first) return it->second;
  for (const auto& row : tables_.allocations_on_node(node_id)) {
    if (is_stopping(*row)) it->second.stopping.push_back(row.get());
    if (works(*row)) it->second.working.emplace(row->ns, row->job_id);
  }
  return it->second;
}

const std::vector<const Allocation*>& GateCache::stopping_on(const std::string& node_id) {
  return on(node_id).stopping;
}

const Allocation* GateCache::earlier_that_may_run(const Allocation& allocation) {
  const auto [it, first] = may_run_.try_emplace({allocation.ns, allocation.job_id});
  if (first) {
    for (const auto& row : tables_.allocations_of_job(allocation.ns, allocation.job_id)) {
      if (model::may_run_still(*row)) it->second.emplace(row->name, row.get());
    }
  }
  const auto [begin, end] = it->second.equal_range(allocation.name);
  const auto found = std::find_if(begin, end, [&](const auto& entry) {
    return entry.second->id != allocation.id && entry.second->create_index < allocation.create_index;
  });
  return found == end ? nullptr : found->second;
}

bool GateCache::works_on(const std::string& node_id, const std::string& ns, const std::string& job_id) {
  return on(node_id).working.contains({ns, job_id});
}

bool GateCache::works_somewhere(const std::string& ns, const std::string& job_id) {
  const auto [it, first] = somewhere_.try_emplace({ns, job_id});
  if (first) it->second = server::works_somewhere(tables_, ns, job_id);
  return it->second;
}

std::optional<std::string> waiting_for(GateCache& cache, const Allocation& allocation, const Guard* guard) {
  if (allocation.terminal()) return std::nullopt;
  Gate gate = gate_of_wanted(cache, allocation, guard);
  return gate.start ? std::nullopt : std::optional(std::move(gate.waiting_for));
}

namespace {

Gate gate_unguarded(GateCache& cache, Dependents& dependents, const Allocation& allocation) {
  if (!allocation.server_terminal()) return gate_of_wanted(cache, allocation, dependents.guard());
  if (is_leaving(allocation)) return gate_of_leaving(cache.tables(), allocation);
  return gate_of_unwanted(cache.tables(), dependents, allocation);
}

}  // namespace

std::optional<std::string> waiting_for(const tables::Tables& tables, const Allocation& allocation, const Guard* guard) {
  GateCache cache(tables);
  return waiting_for(cache, allocation, guard);
}

Gate gate_of(GateCache& cache, Dependents& dependents, const Allocation& allocation) {
  if (allocation.client_terminal()) return {};
  Gate gate = gate_unguarded(cache, dependents, allocation);
  const auto* guard = dependents.guard();
  // While its node was off it may have been started elsewhere.
  gate.guarded = (guard != nullptr && guard->concerns(allocation)) || model::runs_once(allocation);
  return gate;
}

Gate gate_of(const tables::Tables& tables, Dependents& dependents, const Allocation& allocation) {
  GateCache cache(tables);
  return gate_of(cache, dependents, allocation);
}

}  // namespace underway::server
