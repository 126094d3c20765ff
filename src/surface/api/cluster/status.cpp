#include "api/cluster/status.hpp"

#include <algorithm>
#include <set>

#include "api/job/shortfall.hpp"
#include "api/nomad/stubs.hpp"
#include "base/text.hpp"
#include "host/reconcile.hpp"
#include "model/validate/first_cause.hpp"
#include "ownership/capsules.hpp"
#include "saving/server_side.hpp"
#include "scheduler/schedule.hpp"
#include "server/gate_cache.hpp"
#include "tables/orphans.hpp"
#include "tables/slurm_members.hpp"
#include "tables/slurm_reports.hpp"

namespace underway::api {

std::string cause_in_words(const model::Allocation& allocation) {
  const auto cause = model::first_cause(allocation.task_states);
  return cause ? fmt::format("task '{}': {}", cause->task, cause->text) : allocation.client_description;
}

namespace {

/// The newest allocation of the job on each node decides; older ones are history.
void look_at_allocations(server::GateCache& answers, const model::Job& job, wire::ServiceStatus& service,
                         std::vector<wire::Attention>& attention) {
  static const ownership::CapsuleGuard guard;
  std::set<std::string> nodes, waits;
  std::int64_t failed = 0;
  std::string why;
  std::string id;
  for (const auto& allocation : answers.tables().allocations_of_job(job.ns, job.id)) {
    if (allocation->server_terminal()) continue;
    if (allocation->client_status == model::ClientStatus::failed) {
      ++failed;
      // It is to be replaced after a while; a batch job's may be the end of it.
      if (job.type != model::JobType::batch && job.type != model::JobType::sysbatch) ++service.wanted;
      why = cause_in_words(*allocation);
      id = allocation->id;
    }
    if (allocation->client_terminal()) continue;
    ++service.wanted;
    service.running += allocation->client_status == model::ClientStatus::running ? 1 : 0;
    service.healthy += allocation->is_ready() ? 1 : 0;
    nodes.insert(allocation->node_name);
    if (const auto waiting = server::waiting_for(answers, *allocation, &guard)) waits.insert("for " + *waiting);
    for (const auto& [task, state] : allocation->task_states) {
      if (state.restarts > 0 && state.state != model::TaskRunState::running) {
        attention.push_back({fmt::format("task '{}' of '{}' on {} was restarted {} times", task, job.id,
                                         allocation->node_name, state.restarts),
                             cause_in_words(*allocation),
                             fmt::format("underway alloc logs -stderr {} {}", allocation->id.substr(0, 8), task)});
      }
    }
  }
  if (failed > 0 && job.type != model::JobType::batch) {
    attention.push_back({fmt::format("{} of '{}' failed",
                                     failed == 1 ? "an allocation" : fmt::format("{} allocations", failed), job.id),
                         why, fmt::format("underway alloc status {}", id.substr(0, 8))});
  }
  service.nodes.assign(nodes.begin(), nodes.end());
  service.waits.assign(waits.begin(), waits.end());
}

/// Why the group has no place: the allocation that holds its port, or what its nodes lack.
std::string why_blocked(const model::Evaluation& evaluation, const std::string& group,
                        const model::AllocMetric& metric) {
  const std::string about = "group " + group + ": ";
  if (evaluation.status_description.starts_with(about)) return evaluation.status_description.substr(about.size());
  std::string why;
  for (std::string_view line : scheduler::explain(metric)) {
    if (line.starts_with("* ")) line.remove_prefix(2);
    why += (why.empty() ? "" : "; ") + std::string(line);
  }
  return why.empty() ? "no node fits" : why;
}

/// It is for the hosts of a pool that has none yet, and may have some whenever Slurm's queue asks for them.
bool is_for_hosts_to_come(const tables::Tables& tables, const model::Job& job) {
  if (job.type != model::JobType::system && job.type != model::JobType::sysbatch) return false;
  const auto cluster = tables.find_cluster(job.cluster);
  const auto* pool = cluster ? cluster->find_pool(job.node_pool) : nullptr;
  return pool != nullptr && (pool->elastic || pool->size == 0);
}

void look_at_evaluations(const tables::Tables& tables, const model::Job& job, wire::ServiceStatus& service,
                         std::vector<wire::Attention>& attention) {
  for (const auto& evaluation : tables.evaluations_of_job(job.ns, job.id)) {
    if (evaluation->status != model::EvalStatus::blocked) continue;
    for (const auto& [group, metric] : evaluation->failed_groups) {
      if (metric.nodes_evaluated == 0 && is_for_hosts_to_come(tables, job)) continue;
      const std::string why = why_blocked(*evaluation, group, metric);
      service.waits.push_back("for a node: " + why);
      attention.push_back({fmt::format("group '{}' of '{}' cannot be placed", group, job.id), why,
                           fmt::format("underway job explain {}", job.id)});
      const auto it = evaluation->queued.find(group);
      service.wanted += it != evaluation->queued.end() ? it->second : 1;
    }
  }
}

wire::ServiceStatus service_of(server::GateCache& answers, const model::Job& job,
                               std::vector<wire::Attention>& attention) {
  auto service = describe::project<wire::ServiceStatus>(job);
  look_at_allocations(answers, job, service, attention);
  look_at_evaluations(answers.tables(), job, service, attention);
  return service;
}

/// Whether the newest rollout still has allocations to change; a verdict that is merely awaited holds up nobody.
bool is_rolling(const tables::Tables& tables, const model::Job& job) {
  const auto& rollouts = tables.deployments_of_job(job.ns, job.id);
  if (rollouts.empty() || waits_for_person(*rollouts.front())) return false;
  const model::Deployment& newest = *rollouts.front();
  return newest.status == model::DeploymentStatus::running &&
         std::any_of(newest.groups.begin(), newest.groups.end(),
                     [](const auto& group) { return group.second.placed_allocs < group.second.desired_total; });
}

/// A rollout that failed or stands says the same as its allocations that failed, and more.
void look_at_shortfall(const tables::Tables& tables, const model::Job& job, TimePoint now, std::size_t known,
                       std::vector<wire::Attention>& attention) {
  const auto shortfall = shortfall_of(tables, job, now);
  if (!shortfall || !shortfall->needs_you) return;
  const auto first = attention.begin() + static_cast<std::ptrdiff_t>(known);
  if (shortfall->goes_on && first != attention.end()) return;
  attention.erase(std::remove_if(first, attention.end(),
                                 [&](const wire::Attention& entry) {
                                   return !shortfall->why.empty() && entry.why.ends_with(shortfall->why);
                                 }),
                  attention.end());
  attention.push_back({fmt::format("'{}': {}", job.id, shortfall->what), shortfall->why, shortfall->advice});
}

/// How far Slurm is with a host that joins it. One that comes is told of when something keeps it; one that goes has its
/// reason in its own line.
void look_at_member(const model::SlurmMember& member, const model::Host& host, wire::HostState& state,
                    std::vector<wire::Attention>& attention) {
  if (state.status_description.empty()) state.status_description = member.description;
  const bool kept_off = member.description.starts_with("it ") && host.status == model::HostStatus::running &&
                        state.node_status == model::NodeStatus::ready;
  if (kept_off)
    attention.push_back({fmt::format("host '{}' may have no Slurm jobs", host.name), member.description,
                         "mend it, and it is let in; or change the `slurm` of its pool"});
  for (const auto& difference : member.differences)
    attention.push_back(
        {fmt::format("somebody changed the node '{}' of Slurm", host.name), difference,
         fmt::format("scontrol show node {}; what is to be put back is `revert` of the pool's `slurm`", host.name)});
}

/// Hosts whose machine failed, by the job that holds the machines of a pool: looked at once for all its hosts. It is a
/// job of no cluster, and told of here: nobody else says why the services on a host have no node.
using FailedMachines = std::map<std::string, std::set<std::string>>;

bool has_failed_machine(const tables::Tables& tables, const model::Host& host, FailedMachines& failed) {
  if (host.status != model::HostStatus::creating) return false;
  const auto [at, is_new] = failed.try_emplace(model::pool_job_id(host.cluster, host.pool));
  if (is_new) {
    for (const auto& machine : tables.allocations_of_job(model::kDefaultNamespace, at->first)) {
      if (!machine->server_terminal() && machine->client_status == model::ClientStatus::failed)
        at->second.insert(machine->group);
    }
  }
  return at->second.contains(host.name);
}

wire::HostState state_of(const tables::Tables& tables, const model::Host& host, FailedMachines& failed,
                         std::vector<wire::Attention>& attention) {
  auto state = describe::project<wire::HostState>(host);
  if (const auto node = host.node_id.empty() ? nullptr : tables.find_node(host.node_id))
    state.node_status = node->status;
  if (const auto member = tables::find_record<model::SlurmMember>(tables, host.cluster + "/" + host.name))
    look_at_member(*member, host, state, attention);
  if (host.asleep && !host.sleep.empty()) state.status_description = host.sleep;
  if (host.status == model::HostStatus::failed) {
    attention.push_back(
        {fmt::format("host '{}' could not be made", host.name), host.status_description, "underway host list"});
  }
  if (has_failed_machine(tables, host, failed))
    attention.push_back({fmt::format("host '{}' does not come up", host.name), host.status_description,
                         fmt::format("underway job status {}", model::pool_job_id(host.cluster, host.pool))});
  if (host.status == model::HostStatus::running && host.node_id.empty() && !host.status_description.empty()) {
    attention.push_back({fmt::format("host '{}' has not joined", host.name), host.status_description,
                         fmt::format("read its console: clusters/{}/consoles/{}.log in the server's state directory",
                                     host.cluster, host.name)});
  }
  return state;
}

/// Hosts come and go after the request that declares them was acknowledged.
bool has_declared_hosts(const tables::Tables& tables, const model::Cluster& cluster) {
  std::size_t declared = 0;
  for (const auto& [pool, names] : host::wanted_hosts(tables, cluster)) {
    for (const auto& name : names) {
      ++declared;
      if (!tables.find_host(cluster.name, name)) return false;
    }
  }
  return tables.hosts(cluster.name).size() == declared;
}

wire::CapsuleStatus protected_by(const tables::Tables& tables, model::Capsule& capsule, const Visibility& visibility) {
  capsule.successor = ownership::successor_of(tables, capsule, visibility.now);
  return {capsule.name,           capsule.owner_name,       capsule.successor->node_name,
          capsule.successor->why, capsule.successor->loses, capsule.keeps_nothing};
}

}  // namespace

wire::Status status_of(const tables::Tables& tables, const std::string& cluster,
                       const std::function<bool(const std::string& node_id)>& linked, const Visibility& visibility) {
  wire::Status status;
  status.settled = true;
  for (const auto& row : visibility.nodes ? tables.clusters() : std::vector<tables::Row<model::Cluster>>{}) {
    if (!cluster.empty() && row->name != cluster) continue;
    status.clusters.push_back(*row);
    status.settled = status.settled && !row->stop && has_declared_hosts(tables, *row);
  }
  FailedMachines failed;
  for (const auto& row : visibility.nodes ? tables.hosts(cluster) : std::vector<tables::Row<model::Host>>{}) {
    status.hosts.push_back(state_of(tables, *row, failed, status.attention));
    auto& host = status.hosts.back();
    host.linked = !host.node_id.empty() && linked(host.node_id);
    status.settled = status.settled && host.stands();
  }
  for (const auto& row : visibility.nodes ? tables.nodes() : std::vector<tables::Row<model::Node>>{}) {
    if (!cluster.empty() && row->cluster != cluster) continue;
    status.nodes.push_back(stub(*row, false, false));
    if (row->slurm_drain && !row->slurm_drain->description.empty()) {
      status.attention.push_back({fmt::format("the drain of node '{}' waits for Slurm", row->name),
                                  row->slurm_drain->description, "squeue -w " + row->name});
    }
    if (!row->silent()) continue;
    status.attention.push_back(
        {fmt::format("node '{}' is {}", row->name, describe::spell(row->status)), row->status_description,
         row->host.empty() ? "look at its agent: journalctl -u underway" : "underway host list"});
  }
  for (const auto& orphans :
       visibility.nodes ? tables::records<model::Orphans>(tables) : std::vector<model::Orphans>{}) {
    const auto node = tables.find_node(orphans.node_id);
    if (!node || (!cluster.empty() && node->cluster != cluster)) continue;
    std::set<std::string> jobs;
    for (const auto& allocation : orphans.allocations)
      jobs.insert(visibility.jobs(allocation.ns) ? allocation.job_id : "(another's)");
    status.attention.push_back(
        {fmt::format("node '{}' runs {} allocation{} that this server does not know", orphans.node_name,
                     orphans.allocations.size(), orphans.allocations.size() == 1 ? "" : "s"),
         fmt::format("of {}: ordered by another server, or after the state that this one was restored to; they go on, "
                     "and nothing new comes to the node",
                     join(std::vector<std::string>(jobs.begin(), jobs.end()), ", ")),
         fmt::format("underway node orphans {}, then with -keep or -stop", orphans.node_name)});
  }
  for (const auto& report : tables::records<model::SlurmReport>(tables)) {
    const auto job = tables.find_job(report.ns, report.job);
    if (!job || job->stop || (!cluster.empty() && job->cluster != cluster) || !visibility.jobs(report.ns)) continue;
    for (const auto& finding : report.findings)
      status.attention.push_back({"slurmctld was started from an older state", finding, "squeue -t all"});
    if (!report.cut_off.empty()) {
      status.attention.push_back(
          {fmt::format("slurmctld does not reach {}", join(report.cut_off, ", ")),
           "Slurm jobs run there, as the agents see; it takes no node for dead until they answer",
           "sinfo -R; look at the network between the host of slurmctld and theirs"});
    }
  }
  for (auto& capsule : tables::records<model::Capsule>(tables)) {
    const auto job = tables.find_job(capsule.ns, capsule.job);
    if ((!cluster.empty() && (!job || job->cluster != cluster)) || !visibility.jobs(capsule.ns)) continue;
    status.settled = status.settled && !capsule.move && !capsule.upgrade;
    const auto out_of_sync = visibility.copies(capsule);
    if (job && !job->stop && visibility.now != TimePoint{})
      status.capsules.push_back(protected_by(tables, capsule, visibility));
    if (const auto why = ownership::exposed(capsule, visibility.now); !why.empty() && job && !job->stop)
      status.attention.push_back({fmt::format("capsule '{}' is not protected as its job asks for", capsule.name), why,
                                  fmt::format("underway capsule status {}", capsule.name)});
    if (!out_of_sync.empty() && job && !job->stop)
      status.attention.push_back({fmt::format("capsule '{}' is not in sync", capsule.name), out_of_sync,
                                  fmt::format("underway capsule services {}", capsule.name)});
    if (const auto saved =
            tables::find_record<model::CapsuleSaving>(tables, model::capsule_key(capsule.ns, capsule.name));
        saved && saved->node == capsule.owner && job && !job->stop) {
      for (const auto& problem : saved->problems(visibility.now))
        status.attention.push_back({fmt::format("capsule '{}' is not saved as its job asks for", capsule.name), problem,
                                    fmt::format("underway capsule status {}", capsule.name)});
      if (saved->almost_full())
        status.attention.push_back({fmt::format("the overlay of capsule '{}' is almost full", capsule.name),
                                    saved->space_problem(), fmt::format("underway capsule changes {}", capsule.name)});
    }
    if (capsule.state != model::CapsuleState::failed && capsule.state != model::CapsuleState::waiting_for_fence)
      continue;
    const bool waits = capsule.state == model::CapsuleState::waiting_for_fence;
    status.attention.push_back({waits ? fmt::format("capsule '{}' waits until the host of {} is known to be off",
                                                    capsule.name, capsule.owner_name)
                                      : fmt::format("capsule '{}' does not run", capsule.name),
                                capsule.description,
                                waits ? fmt::format("underway capsule fence {} -host-is-off", capsule.name)
                                      : "underway capsule status " + capsule.name});
  }
  server::GateCache answers(tables);
  for (const auto& row : tables.jobs()) {
    if (row->stop || (!cluster.empty() && row->cluster != cluster) || !visibility.jobs(row->ns)) continue;
    const std::size_t known = status.attention.size();
    status.services.push_back(service_of(answers, *row, status.attention));
    const auto& service = status.services.back();
    look_at_shortfall(tables, *row, visibility.now, known, status.attention);
    status.settled =
        status.settled && service.healthy == service.wanted && service.waits.empty() && !is_rolling(tables, *row);
  }
  // The scheduler has not looked yet: whether all is placed is not known. What it is to look at later is a plan for the
  // case that nothing happens before.
  const auto pending = tables.pending_evaluations();
  status.settled = status.settled && std::all_of(pending.begin(), pending.end(),
                                                 [](const auto& evaluation) { return evaluation->wait_until > 0; });
  return status;
}

}  // namespace underway::api
