#include "host/virtual/virtual_hosts.hpp"

#include "base/error.hpp"
#include "base/log.hpp"
#include "host/reconcile.hpp"
#include "host/virtual/sleep.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/move_decisions.hpp"
#include "server/node/sleep_decisions.hpp"
#include "tables/slurm_members.hpp"

namespace underway::host {
namespace {

/// Those of clusters that have such hosts, or whose hosts are still to go.
std::map<std::string, model::Pool> virtual_pools(const tables::Tables& tables, const model::Cluster& cluster) {
  std::map<std::string, model::Pool> pools;
  for (const auto& host : tables.hosts(cluster.name)) {
    if (host->provider != "qemu" || pools.contains(host->pool)) continue;
    const auto* pool = cluster.find_pool(host->pool);
    pools.emplace(host->pool,
                  pool != nullptr && pool->machine ? *pool : model::Pool{.name = host->pool, .provider = "qemu"});
  }
  return pools;
}

std::vector<tables::Scope> what_machines_follow(const tables::Tables& tables) {
  std::vector<tables::Scope> out{{tables::Topic::clusters, ""}, {tables::Topic::hosts, ""}};
  for (const auto& cluster : tables.clusters()) {
    std::set<std::string_view> pools;  // declared, or with hosts that are still to go
    for (const auto& pool : cluster->pools) {
      if (pool.machine) pools.insert(pool.name);
    }
    const auto hosts = tables.hosts(cluster->name);
    for (const auto& host : hosts) {
      if (host->provider != "qemu") continue;
      pools.insert(host->pool);
      if (host->status == model::HostStatus::stopping || !host->sleep.empty())
        out.push_back(tables::record_scope<model::SlurmMember>(host->cluster + "/" + host->name));
    }
    for (const auto& pool : pools)
      out.push_back({tables::Topic::allocations, fmt::format("job:{}/{}", model::kDefaultNamespace,
                                                             model::pool_job_id(cluster->name, std::string(pool)))});
  }
  return out;
}

std::vector<model::Host> hosts_of(const tables::Tables& tables, const model::Cluster& cluster,
                                  const model::Pool& pool) {
  std::vector<model::Host> out;
  for (const auto& host : tables.hosts(cluster.name)) {
    if (host->pool == pool.name && host->provider == "qemu") out.push_back(*host);
  }
  return out;
}

/// Of a pool that is declared no more, what is left of its job.
model::Job with_groups_of(model::Job job, const std::vector<model::Host>& hosts) {
  std::set<std::string_view> names;
  for (const auto& host : hosts) names.insert(host.name);
  std::erase_if(job.groups, [&](const auto& group) { return !names.contains(group.name); });
  return job;
}

}  // namespace

VirtualHosts::VirtualHosts(server::Server& server, async::Pool& pool, async::Executor executor,
                           VirtualHostsOptions options)
    : server_(server),
      pool_(pool),
      options_(std::move(options)),
      follower_(server.follow({.scopes = what_machines_follow, .again = {}, .gather = options_.gather})),
      tasks_(std::move(executor), "virtual hosts") {}

void VirtualHosts::start() {
  server_.loops().start(tasks_, {.area = "hosts",
                                 .name = "virtual hosts",
                                 .trouble = "virtual machines are not brought in line with their pools",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return act(); },
                                 .retry = async::RetryPolicy::up_to(options_.retry_after)});
}

async::awaitable<void> VirtualHosts::stop() { co_await tasks_.stop(); }

async::awaitable<void> VirtualHosts::act() {
  const auto* tables = co_await server_.read();
  const auto clusters = tables->clusters();
  for (const auto& cluster : clusters) {
    for (const auto& [name, pool] : virtual_pools(*tables, *cluster)) co_await follow(*cluster, pool);
    tables = co_await server_.read();
  }
}

async::awaitable<void> VirtualHosts::follow(model::Cluster cluster, model::Pool pool) {
  const auto* tables = co_await server_.read();
  std::vector<model::Host> wanted, fresh;
  for (const auto& host : hosts_of(*tables, cluster, pool)) {
    // Slurm lets go of a host first: its jobs run on, also when the pool is declared no more.
    const bool leaves = host.status == model::HostStatus::stopping && !may_stop(*tables, cluster, host);
    const bool pending = pool.machine && host.status == model::HostStatus::pending;
    if (!leaves && !pending && !(pool.machine && is_held(host))) continue;
    wanted.push_back(host);
    if (pending) fresh.push_back(host);
  }
  if (!wanted.empty()) {
    AgentSeed agent;
    agent.server = options_.server_address(cluster);
    if (!fresh.empty()) agent.hosts_file = hosts_file(cluster, tables->hosts(cluster.name));
    for (const auto& host : fresh) co_await prepare(cluster, pool, host, agent);
  }
  std::set<std::string> held;
  for (const auto& host : wanted) held.insert(host.name);
  co_await hold(cluster, pool, std::move(wanted));
  RecordMachines stand{cluster.name, pool.name, outdated_[model::pool_job_id(cluster.name, pool.name)]};
  co_await server_.apply(std::move(stand));
  co_await follow_sleep(cluster, pool);
  co_await forget(cluster, pool, std::move(held));
}

async::awaitable<void> VirtualHosts::follow_sleep(const model::Cluster& cluster, const model::Pool& pool) {
  const auto hosts = hosts_of(*co_await server_.read(), cluster, pool);
  std::optional<Error> failure;
  for (const auto& host : hosts) {
    const auto step = next_sleep_step(*co_await server_.read(), cluster, host);
    try {
      switch (step.kind) {
        case SleepStep::Kind::none:
          break;
        case SleepStep::Kind::sleep: {
          server::SleepAllocation sleep{step.allocation};
          co_await server_.apply(std::move(sleep));
          break;
        }
        case SleepStep::Kind::wake: {
          server::WakeAllocation wake{step.allocation};
          co_await server_.apply(std::move(wake));
          break;
        }
        case SleepStep::Kind::give_up: {
          GiveUpSleep give_up{host.cluster, host.name};
          co_await server_.apply(std::move(give_up));
          break;
        }
        case SleepStep::Kind::depart: {
          DepartHost depart{host.cluster, host.name};
          co_await server_.apply(std::move(depart));
          break;
        }
        case SleepStep::Kind::arrive: {
          ArriveHost arrive{host.cluster, host.name};
          co_await server_.apply(std::move(arrive));
        }
      }
    } catch (Error& error) {
      if (!failure) failure = error.while_doing(fmt::format("following the sleep of host '{}'", host.name));
    }
  }
  if (failure) throw std::move(*failure);
}

/// Before its group is there: the machine finds its seed when it is placed.
async::awaitable<void> VirtualHosts::prepare(const model::Cluster& cluster, const model::Pool& pool,
                                             const model::Host& host, AgentSeed agent) {
  agent.join_token = co_await options_.join_token(cluster.name, host.name, host.pool);
  const auto files = guest::render(host_seed(cluster, pool, host, agent));
  server::VariableClaim claim{.ns = model::kDefaultNamespace,
                              .path = seed_variable(host.cluster, host.pool, host.name),
                              .cas = {},
                              .lock_id = {}};
  co_await server_.variables().put(std::move(claim), model::StringMap(files.begin(), files.end()));
  MachinePrepared prepared{host.cluster, host.name};
  co_await server_.apply(std::move(prepared));
}

async::awaitable<void> VirtualHosts::hold(const model::Cluster& cluster, const model::Pool& pool,
                                          std::vector<model::Host> wanted) {
  const auto id = model::pool_job_id(cluster.name, pool.name);
  const auto* tables = co_await server_.read();
  auto current = tables->find_job(model::kDefaultNamespace, id);
  if (wanted.empty() || (!pool.machine && (!current || current->stop))) {
    held_.erase(id);
    outdated_.erase(id);
    if (!current || current->stop) co_return;
    server::DeregisterJob end{.ns = model::kDefaultNamespace, .id = id};
    co_await server_.apply(std::move(end));
    co_return;
  }
  Held now{
      .cluster = cluster.modify_index, .job = current && !current->stop ? current->job_modify_index : 0, .hosts = {}};
  for (const auto& host : wanted)
    now.hosts.push_back(host.status == model::HostStatus::pending ? host.name + "*" : host.name);
  if (const auto known = held_.find(id); now.job != 0 && known != held_.end() && known->second == now) co_return;
  server::RegisterJob wish;
  bool same = false;
  std::set<std::string> outdated;
  auto write = [&] {
    wish.job = pool.machine ? *pool_job(cluster, pool, wanted) : with_groups_of(*current, wanted);
    if (pool.machine && current) outdated = keep_made(wish.job, *current, pool, wanted);
    same = now.job != 0 && server::same_specification(*current, wish.job);
  };
  co_await async::on_pool(pool_, write);
  if (!same) now.job = (co_await server_.apply(std::move(wish))).job_modify_index;
  held_[id] = std::move(now);
  outdated_[id] = std::move(outdated);
}

/// Hosts that were to go, and of whose machines nothing is anywhere any more. A machine for which there was no room yet
/// is nowhere either: as long as Slurm has its host, that is `held`.
async::awaitable<void> VirtualHosts::forget(const model::Cluster& cluster, const model::Pool& pool,
                                            std::set<std::string> held) {
  const auto* tables = co_await server_.read();
  const auto machines = machine_states(*tables, cluster.name, pool.name);
  std::vector<std::string> gone;
  for (const auto& host : hosts_of(*tables, cluster, pool)) {
    const auto machine = machines.find(host.name);
    const bool ended = machine == machines.end() || machine->second.gone;
    if (host.status == model::HostStatus::stopping && ended && !held.contains(host.name)) gone.push_back(host.name);
  }
  for (const auto& name : gone) {
    server::DeleteVariable seed{{.ns = model::kDefaultNamespace,
                                 .path = seed_variable(cluster.name, pool.name, name),
                                 .cas = {},
                                 .lock_id = {}}};
    co_await server_.apply(std::move(seed));
    server::DiscardMachines discard{model::kDefaultNamespace, model::pool_job_id(cluster.name, pool.name), name};
    co_await server_.apply(std::move(discard));
    HostStopped stopped{cluster.name, name};
    co_await server_.apply(std::move(stopped));
  }
}

}  // namespace underway::host
