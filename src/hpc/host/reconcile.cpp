#include "host/reconcile.hpp"

#include "base/error.hpp"
#include "host/addresses.hpp"
#include "server/job/job_decisions.hpp"
#include "tables/pool_hosts.hpp"
#include "tables/slurm_members.hpp"

namespace underway::host {
namespace {

using model::SlurmMembership;

std::optional<model::SlurmMember> member_of(const tables::Tables& tables, const model::Host& host) {
  return tables::find_record<model::SlurmMember>(tables, host.cluster + "/" + host.name);
}

net::Cidr get_cidr(const model::Network& network) {
  const auto cidr = net::parse_cidr(network.cidr);
  if (!cidr)
    throw Error(Code::invalid,
                fmt::format("network '{}': '{}' is no network like 10.77.0.0/24", network.name, network.cidr));
  return *cidr;
}

std::vector<const model::Network*> networks_of(const model::Cluster& cluster, const model::Pool& pool) {
  std::vector<const model::Network*> out;
  for (const auto& network : cluster.networks) {
    if (pool.networks.empty() ||
        std::find(pool.networks.begin(), pool.networks.end(), network.name) != pool.networks.end())
      out.push_back(&network);
  }
  return out;
}

/// Gives every added host an address on each of its networks.
void assign(const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& existing,
            std::vector<model::Host>& added) {
  for (const auto& network : cluster.networks) {
    const net::Cidr cidr = get_cidr(network);
    std::set<net::Ip> used;
    for (const auto& host : existing) {
      const auto it = host->addresses.find(network.name);
      if (const auto ip = it == host->addresses.end() ? std::nullopt : net::parse_ip(it->second)) used.insert(*ip);
    }
    std::vector<std::string> names;
    for (const auto& host : added) {
      const auto* pool = cluster.find_pool(host.pool);
      const auto networks = networks_of(cluster, *pool);
      if (std::find(networks.begin(), networks.end(), &network) != networks.end()) names.push_back(host.name);
    }
    const auto addresses = assign_addresses(cidr, used, names);
    for (auto& host : added) {
      if (const auto it = addresses.find(host.name); it != addresses.end())
        host.addresses[network.name] = to_string(it->second.ip);
    }
  }
}

}  // namespace

WantedHosts wanted_hosts(const tables::Tables& tables, const model::Cluster& cluster) {
  WantedHosts out;
  for (const auto& pool : cluster.pools) {
    const auto decided =
        pool.elastic ? tables::find_record<model::PoolHosts>(tables, cluster.name + "/" + pool.name) : std::nullopt;
    out[pool.name] = model::hosts_to_have(pool, decided);
  }
  return out;
}

HostChanges compare(const model::Cluster& cluster, const WantedHosts& wanted_names,
                    const std::vector<tables::Row<model::Host>>& existing) {
  HostChanges changes;
  std::set<std::string> wanted;
  for (const auto& pool : cluster.pools) {
    const auto names = wanted_names.find(pool.name);
    if (cluster.stop || names == wanted_names.end()) continue;
    for (const auto& name : names->second) {
      wanted.insert(name);
      const bool exists =
          std::any_of(existing.begin(), existing.end(), [&](const auto& host) { return host->name == name; });
      if (exists) continue;
      model::Host host;
      host.name = name;
      host.cluster = cluster.name;
      host.pool = pool.name;
      host.provider = pool.provider;
      changes.added.push_back(std::move(host));
    }
  }
  for (const auto& host : existing) {
    if (!wanted.contains(host->name)) changes.removed.push_back(host->name);
  }
  assign(cluster, existing, changes.added);
  return changes;
}

bool may_stop(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host) {
  const auto member = cluster.stop ? std::nullopt : member_of(tables, host);
  return !member || member->status == SlurmMembership::released || member->status == SlurmMembership::gone;
}

bool may_forget(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host) {
  const auto member = cluster.stop ? std::nullopt : member_of(tables, host);
  return !member || member->status == SlurmMembership::gone;
}

bool jobs_ended(const tables::Tables& tables, const model::Cluster& cluster) {
  for (const auto& job : tables.jobs()) {
    if (job->cluster != cluster.name) continue;
    const auto& allocations = tables.allocations_of_job(job->ns, job->id);
    if (!std::all_of(allocations.begin(), allocations.end(), [](const auto& a) { return a->client_terminal(); }))
      return false;
  }
  return true;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const FollowPools& request,
                                         const server::Context& context) {
  server::Decision<server::Nothing> decision;
  for (const auto& cluster : tables.clusters()) {
    if (cluster->stop && !request.may_empty(tables, *cluster)) continue;
    const auto existing = tables.hosts(cluster->name);
    auto changes = compare(*cluster, wanted_hosts(tables, *cluster), existing);
    for (auto& host : changes.added) {
      host.created_at = unix_nanos(context.now);
      decision.changes.push_back(tables::PutHost{std::move(host)});
    }
    const std::set<std::string> removed(changes.removed.begin(), changes.removed.end());
    for (const auto& current : existing) {
      const bool goes = current->status == model::HostStatus::stopping || current->status == model::HostStatus::stopped;
      const bool wanted = !removed.contains(current->name);
      // Slurm lets it take jobs again.
      const bool comes_back = wanted && current->status == model::HostStatus::stopping && !cluster->stop &&
                              !may_stop(tables, *cluster, *current);
      if (wanted ? !comes_back : goes) continue;
      model::Host host = *current;
      host.status = wanted ? model::HostStatus::running : model::HostStatus::stopping;
      host.status_description.clear();
      decision.changes.push_back(tables::PutHost{std::move(host)});
    }
  }
  return decision;
}

void forget_node(std::vector<server::Change>& changes, const tables::Tables& tables, const std::string& cluster,
                 const std::string& name, const server::Context& context) {
  std::set<std::pair<std::string, std::string>> jobs;
  for (const auto& node : tables.nodes()) {
    if (node->cluster != cluster || node->host != name) continue;
    for (const auto& allocation : tables.allocations_on_node(node->id)) {
      if (!allocation->terminal()) jobs.emplace(allocation->ns, allocation->job_id);
      changes.push_back(tables::DeleteAllocation{allocation->id});
    }
    changes.push_back(tables::DeleteNode{node->id});
  }
  for (const auto& [ns, id] : jobs) {
    const auto job = tables.find_job(ns, id);
    if (!job || job->stop) continue;
    changes.push_back(tables::PutEvaluation{server::new_evaluation(*job, model::EvalTrigger::node_update, context)});
  }
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostGone& request,
                                         const server::Context& context) {
  const auto& [cluster, name] = request;
  server::Decision<server::Nothing> decision;
  forget_node(decision.changes, tables, cluster, name, context);
  if (const std::string key = cluster + "/" + name; tables::find_record<model::SlurmMember>(tables, key))
    decision.changes.push_back(tables::delete_record<model::SlurmMember>(key));
  decision.changes.push_back(tables::DeleteHost{cluster + "/" + name});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostStopped& request,
                                         const server::Context& context) {
  const auto current = tables.find_host(request.cluster, request.name);
  const auto cluster = tables.find_cluster(request.cluster);
  if (!current || !cluster || may_forget(tables, *cluster, *current))
    return decide(tables, HostGone{request.cluster, request.name}, context);
  server::Decision<server::Nothing> decision;
  forget_node(decision.changes, tables, request.cluster, request.name, context);
  model::Host host = *current;
  host.status = model::HostStatus::stopped;
  host.status_description = "its machine is stopped; it keeps its addresses until Slurm has forgotten them";
  host.node_id.clear();
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostLost& request,
                                         const server::Context& context) {
  const auto& [cluster, name, reason] = request;
  server::Decision<server::Nothing> decision;
  const auto current = tables.find_host(cluster, name);
  if (!current || current->status == model::HostStatus::stopping || current->status == model::HostStatus::stopped)
    return decision;
  forget_node(decision.changes, tables, cluster, name, context);
  model::Host host = *current;
  host.status = model::HostStatus::pending;
  host.status_description = reason;
  host.node_id.clear();
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostWaits& request,
                                         const server::Context&) {
  const auto& [cluster, name, words] = request;
  server::Decision<server::Nothing> decision;
  const auto current = tables.find_host(cluster, name);
  if (!current || current->status != model::HostStatus::running || !current->node_id.empty()) return decision;
  model::Host host = *current;
  host.status_description = words.empty() ? "its agent has not joined, and says nothing"
                                          : fmt::format("its agent has not joined; it says: {}", words);
  if (host.status_description != current->status_description)
    decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const RecordHost& request,
                                         const server::Context&) {
  server::Decision<server::Nothing> decision;
  const auto current = tables.find_host(request.cluster, request.name);
  // A host that was asked to go meanwhile keeps that wish.
  const bool goes =
      current && (current->status == model::HostStatus::stopping || current->status == model::HostStatus::stopped);
  if (!current || (goes && request.status != model::HostStatus::stopping)) return decision;
  model::Host host = *current;
  host.status = request.status;
  host.status_description = request.description;
  decision.changes.push_back(tables::PutHost{std::move(host)});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const RevisitHost& request,
                                         const server::Context&) {
  server::Decision<server::Nothing> decision;
  const auto current = tables.find_host(request.cluster, request.name);
  if (current && (current->status == model::HostStatus::stopping || current->status == model::HostStatus::stopped))
    decision.changes.push_back(tables::PutHost{*current});
  return decision;
}

server::Decision<server::Nothing> decide(const tables::Tables& tables, const ClusterGone& request,
                                         const server::Context&) {
  const auto& name = request.name;
  server::Decision<server::Nothing> decision;
  for (const auto& job : tables.jobs()) {
    if (job->cluster != name) continue;
    for (const auto& allocation : tables.allocations_of_job(job->ns, job->id))
      decision.changes.push_back(tables::DeleteAllocation{allocation->id});
    for (const auto& evaluation : tables.evaluations_of_job(job->ns, job->id))
      decision.changes.push_back(tables::DeleteEvaluation{evaluation->id});
    decision.changes.push_back(tables::DeleteJob{job->ns, job->id});
  }
  decision.changes.push_back(tables::DeleteCluster{name});
  return decision;
}

ClusterSpec cluster_spec(const model::Cluster& cluster) {
  ClusterSpec spec;
  spec.name = cluster.name;
  for (const auto& network : cluster.networks)
    spec.networks.push_back({network.name, get_cidr(network), network.nat, std::nullopt});
  spec.shares = cluster.shares;
  return spec;
}

HostSpec host_spec(const model::Cluster& cluster, const model::Host& host) {
  HostSpec spec;
  spec.cluster = cluster.name;
  spec.name = host.name;
  spec.pool = host.pool;
  spec.directories = cluster.directories;
  if (const auto* pool = cluster.find_pool(host.pool)) {
    spec.cpus = pool->cpus;
    spec.memory_mb = pool->memory_mb;
    spec.bridges = pool->bridges;
    spec.directories.insert(spec.directories.end(), pool->directories.begin(), pool->directories.end());
  }
  for (const auto& network : cluster.networks) {
    const auto it = host.addresses.find(network.name);
    const auto ip = it == host.addresses.end() ? std::nullopt : net::parse_ip(it->second);
    if (ip) spec.addresses.emplace(network.name, net::Cidr{*ip, get_cidr(network).prefix});
  }
  return spec;
}

std::map<std::string, std::map<std::string, net::Cidr>> announcement(const model::Cluster& cluster,
                                                                     const std::vector<tables::Row<model::Host>>& hosts,
                                                                     const std::set<std::string>& still_there) {
  std::map<std::string, std::map<std::string, net::Cidr>> out;
  for (const auto& host : hosts) {
    const bool goes = host->status == model::HostStatus::stopping || host->status == model::HostStatus::stopped;
    if (!goes || still_there.contains(host->name)) out[host->name] = host_spec(cluster, *host).addresses;
  }
  return out;
}

void announce_absent(std::map<std::string, std::map<std::string, net::Cidr>>& announced,
                     const model::Cluster& cluster) {
  // RFC 5737, TEST-NET-1: as slurm/elastic/members.hpp has it of nodes that are not there.
  const auto nowhere = net::parse_cidr("192.0.2.1/32");
  if (cluster.networks.empty() || !nowhere) return;
  for (const auto& pool : cluster.pools) {
    if (!pool.slurm) continue;
    for (const auto& name : pool.all_host_names())
      announced.try_emplace(name, std::map<std::string, net::Cidr>{{cluster.networks.front().name, *nowhere}});
  }
}

}  // namespace underway::host
