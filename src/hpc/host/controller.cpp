#include "host/controller.hpp"

#include <filesystem>

#include "base/error.hpp"
#include "base/log.hpp"
#include "tables/pool_hosts.hpp"
#include "tables/slurm_members.hpp"

namespace underway::host {
namespace {

/// Hosts of others are virtual_hosts.hpp's.
constexpr const char* kProvider = "local";
/// In the host: the agent's join token, which is not to be seen among its arguments.
constexpr const char* kTokenFile = "/etc/underway/join-token";
/// In the host: its agent's data.
constexpr const char* kDataDirectory = "/var/lib/underway-node";

bool has_addresses_of(const HostInfo& info, const model::Host& host) {
  return std::equal(info.addresses.begin(), info.addresses.end(), host.addresses.begin(), host.addresses.end(),
                    [](const auto& found, const auto& given) {
                      return found.first == given.first && net::to_string(found.second.ip) == given.second;
                    });
}

std::string cannot_make(const std::string& cluster, const std::string& host) {
  return fmt::format("hosts: cannot make host {} of cluster {}", host, cluster);
}

}  // namespace

Controller::Controller(server::Server& server, Provider& provider, async::Pool& pool, async::Executor executor,
                       Clock& clock, ControllerOptions options)
    : server_(server),
      provider_(provider),
      pool_(pool),
      clock_(clock),
      options_(std::move(options)),
      follower_(server.follow(what_hosts_follow())),
      tasks_(std::move(executor), "hosts") {}

async::awaitable<void> Controller::start() {
  co_await adopt();
  server_.loops().start(tasks_, {.area = "hosts",
                                 .name = "hosts",
                                 .trouble = "hosts are not brought in line with their pools",
                                 .wait = [this] { return follower_.wait_for_news(); },
                                 .reconcile = [this] { return act(); },
                                 .retry = async::RetryPolicy::up_to(options_.retry_after)});
}

async::awaitable<void> Controller::stop() { co_await tasks_.stop(); }

server::FollowerOptions Controller::what_hosts_follow() const {
  server::FollowerOptions out;
  out.scopes = [](const tables::Tables& tables) {
    std::vector<tables::Scope> scopes = {{tables::Topic::clusters, ""},
                                         {tables::Topic::hosts, ""},
                                         {tables::Topic::nodes, ""},
                                         {tables::Topic::allocations, ""}};
    // Whether Slurm has let go of those that are to go.
    for (const auto& host : tables.hosts()) {
      if (host->status == model::HostStatus::stopping || host->status == model::HostStatus::stopped)
        scopes.push_back(
            {tables::Topic::records, tables::record_key<model::SlurmMember>(host->cluster + "/" + host->name)});
    }
    // How many hosts a pool is to have that grows.
    for (const auto& cluster : tables.clusters()) {
      for (const auto& pool : cluster->pools) {
        if (pool.elastic) scopes.push_back(tables::record_scope<model::PoolHosts>(cluster->name + "/" + pool.name));
      }
    }
    return scopes;
  };
  // Once a second while a patience runs out by the clock, not by a change: a cluster's that is being taken down, or
  // that for an agent to join.
  out.again = [this](const tables::Tables&) -> std::optional<Duration> {
    if (stopping_since_.empty() && joining_.empty()) return std::nullopt;
    return std::chrono::seconds(1);
  };
  return out;
}

/// Making a host is dear: the first pause is not the shortest.
Duration Controller::failed(const std::string& what, std::string why) {
  const auto policy = async::RetryPolicy::up_to(options_.retry_after, std::chrono::seconds(1));
  return failing_.try_emplace(what, clock_, what, policy).first->second.failed(std::move(why));
}

void Controller::succeeded(const std::string& what) {
  const auto it = failing_.find(what);
  if (it == failing_.end()) return;
  it->second.succeeded();
  failing_.erase(it);
}

async::awaitable<void> Controller::adopt() {
  auto look = [this] { return provider_.adopt(); };
  const auto existing = co_await async::on_pool(pool_, look);
  const auto* tables = co_await server_.read();
  for (const auto& host : tables->hosts()) {
    if (host->provider != kProvider) continue;
    if (host->status != model::HostStatus::running && host->status != model::HostStatus::creating) continue;
    const bool lives = std::any_of(existing.begin(), existing.end(), [&](const HostInfo& info) {
      return info.cluster == host->cluster && info.name == host->name && info.status == model::HostStatus::running;
    });
    if (lives)
      co_await record(host->cluster, host->name, model::HostStatus::running, "");
    else
      co_await lose(host->cluster, host->name, "it was gone when the server started");
    tables = co_await server_.read();
  }
  for (const auto& info : existing) {
    if (tables->find_host(info.cluster, info.name)) continue;
    // The row of a host outlives it: one that runs without is of a state that was lost, or is newer than this one. What
    // runs in it goes on until somebody declares it again or takes it down.
    if (info.status == model::HostStatus::running) {
      log::warn(
          "hosts: '{}' of cluster '{}' runs, and this server does not know it; declare it again with `underway "
          "up`, or take all away with `underway down -all`",
          info.name, info.cluster);
      unknown_.insert_or_assign(HostKey{info.cluster, info.name}, info);
      continue;
    }
    auto remove = [this, &info] { return provider_.destroy(info.cluster, info.name); };
    co_await async::on_pool(pool_, remove);
    tables = co_await server_.read();
  }
}

bool Controller::may_empty(const tables::Tables& tables, const model::Cluster& cluster) {
  const auto [since, fresh] = stopping_since_.try_emplace(cluster.name, clock_.now());
  return jobs_ended(tables, cluster) || clock_.now() - since->second >= options_.stop_patience;
}

async::awaitable<void> Controller::act() {
  FollowPools pools;
  pools.may_empty = [this](const tables::Tables& now, const model::Cluster& cluster) {
    return may_empty(now, cluster);
  };
  co_await server_.apply(std::move(pools));
  std::vector<tables::Row<model::Host>> silent;
  std::vector<tables::Row<model::Host>> joining;
  const auto* tables = co_await server_.read();
  const auto clusters = tables->clusters();
  for (const auto& cluster : clusters) {
    if (!cluster->stop) stopping_since_.erase(cluster->name);
    const auto hosts = tables->hosts(cluster->name);
    if (cluster->stop && hosts.empty() && stopping_since_.contains(cluster->name)) {
      co_await remove_cluster(cluster->name);
      tables = co_await server_.read();
      continue;
    }
    for (const auto& host : hosts) {
      if (busy_.contains({host->cluster, host->name})) continue;
      if (host->status == model::HostStatus::stopped && may_forget(*tables, *cluster, *host)) {
        busy_.emplace(host->cluster, host->name);
        tasks_.spawn("forgetting host " + host->name, forget(host->cluster, host->name));
      }
      if (host->provider != kProvider) continue;
      if (host->status == model::HostStatus::stopping && may_stop(*tables, *cluster, *host)) {
        busy_.emplace(host->cluster, host->name);
        tasks_.spawn("removing host " + host->name, destroy(host->cluster, host->name));
      }
      if (host->status == model::HostStatus::running && host->node_id.empty()) joining.push_back(host);
      if (host->status == model::HostStatus::running && !host->node_id.empty()) {
        const auto node = tables->find_node(host->node_id);
        if (node && node->silent()) silent.push_back(host);
      }
    }
    std::vector<model::Host> due_now;
    const bool pending = std::any_of(hosts.begin(), hosts.end(), [&](const auto& host) {
      return host->provider == kProvider &&
             (host->status == model::HostStatus::pending || host->status == model::HostStatus::creating) &&
             !busy_.contains({host->cluster, host->name});
    });
    if (pending) {
      for (const auto& host : hosts) {
        const bool due = host->provider == kProvider &&
                         (host->status == model::HostStatus::pending || host->status == model::HostStatus::creating);
        if (due && busy_.emplace(host->cluster, host->name).second) due_now.push_back(*host);
      }
      // Names of hosts that Slurm jobs still run on are looked up by the others.
      std::set<std::string> still_there;
      for (const auto& host : hosts) {
        if (host->status == model::HostStatus::stopping && !may_stop(*tables, *cluster, *host))
          still_there.insert(host->name);
      }
      tasks_.spawn("making hosts of " + cluster->name,
                   create_all(*cluster, hosts, std::exchange(due_now, {}), std::move(still_there)));
    }
  }
  if (!silent.empty()) co_await look_at_silent_hosts(std::move(silent));
  co_await listen_to_joining_hosts(std::move(joining));
}

async::awaitable<void> Controller::listen_to_joining_hosts(std::vector<tables::Row<model::Host>> hosts) {
  std::map<HostKey, TimePoint> joining;
  const TimePoint now = clock_.now();
  const TimePoint next = now + options_.join_patience;
  std::map<HostKey, std::string> said;
  for (const auto& host : hosts) {
    const HostKey key{host->cluster, host->name};
    const auto known = joining_.find(key);
    const bool due = known != joining_.end() && known->second <= now;
    joining.emplace(key, known == joining_.end() || due ? next : known->second);
    if (due) said.emplace(key, "");
  }
  joining_ = std::move(joining);
  if (said.empty()) co_return;
  auto listen = [&] {
    for (auto& [key, words] : said) words = provider_.last_words(key.first, key.second);
  };
  co_await async::on_pool(pool_, listen);
  for (const auto& [key, words] : said) {
    HostWaits waits{key.first, key.second, words};
    co_await server_.apply(std::move(waits));
  }
}

async::awaitable<void> Controller::look_at_silent_hosts(std::vector<tables::Row<model::Host>> silent) {
  auto look = [this] { return provider_.list(); };
  const auto existing = co_await async::on_pool(pool_, look);
  for (const auto& host : silent) {
    const bool lives = std::any_of(existing.begin(), existing.end(), [&](const HostInfo& info) {
      return info.cluster == host->cluster && info.name == host->name && info.status == model::HostStatus::running;
    });
    if (!lives) co_await lose(host->cluster, host->name, "its first process ended; it is made again");
  }
}

async::awaitable<void> Controller::prepare(model::Cluster cluster, std::vector<tables::Row<model::Host>> hosts,
                                           std::set<std::string> still_there) {
  auto work = [&] {
    provider_.prepare(cluster_spec(cluster));
    auto names = announcement(cluster, hosts, still_there);
    announce_absent(names, cluster);
    provider_.announce(cluster.name, names);
  };
  co_await async::on_pool(pool_, work);
}

HostSpec Controller::complete_spec(const model::Cluster& cluster, const model::Host& host,
                                   const std::string& token) const {
  HostSpec spec = host_spec(cluster, host);
  const auto* pool = cluster.find_pool(host.pool);
  // Outside /usr the programs may lie where a host has something of its own: its /tmp, a share on /home.
  const auto programs = std::filesystem::path(options_.agent_program).parent_path().string();
  if (!programs.starts_with("/usr/")) spec.binds.push_back({programs, programs, true});
  spec.plain_directories = {kDataDirectory};
  // erofs mounts no file of a tmpfs (mount(2): ENOTBLK).
  spec.disk_directories = {std::string(kDataDirectory) + "/images"};
  spec.agent_argv = {options_.agent_program,
                     "agent",
                     "-client",
                     "-servers=" + options_.server_address,
                     std::string("-data-dir=") + kDataDirectory,
                     "-name=" + host.name,
                     "-datacenter=" + cluster.datacenter,
                     "-node-pool=" + host.pool,
                     "-host=" + host.name,
                     "-cluster=" + cluster.name,
                     "-plugin=raw_exec"};
  if (!token.empty()) {
    spec.agent_argv.push_back(std::string("-join-token-file=") + kTokenFile);
    spec.files.push_back({kTokenFile, token + "\n", 0600});
  }
  if (pool != nullptr && !pool->node_class.empty()) spec.agent_argv.push_back("-node-class=" + pool->node_class);
  if (pool != nullptr && pool->cpu_total_compute > 0)
    spec.agent_argv.push_back(fmt::format("-cpu-total-compute={}", pool->cpu_total_compute));
  if (pool != nullptr && pool->memory_total_mb > 0)
    spec.agent_argv.push_back(fmt::format("-memory-total-mb={}", pool->memory_total_mb));
  if (pool != nullptr) {
    for (const auto& [key, value] : pool->meta) spec.agent_argv.push_back("-meta=" + key + "=" + value);
  }
  spec.agent_env = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"};
  return spec;
}

async::awaitable<void> Controller::create_all(model::Cluster cluster, std::vector<tables::Row<model::Host>> hosts,
                                              std::vector<model::Host> due, std::set<std::string> still_there) {
  const std::string what = fmt::format("hosts: cluster {} cannot be prepared", cluster.name);
  std::optional<std::string> failure;
  Duration pause{0};
  try {
    co_await prepare(cluster, std::move(hosts), std::move(still_there));
    succeeded(what);
  } catch (const Error& error) {
    failure = error.one_line();
    pause = failed(what, *failure);
  }
  for (const auto& host : due) {
    if (failure)
      tasks_.spawn("host " + host.name, try_again(host, *failure, pause));
    else
      tasks_.spawn("making host " + host.name, create(cluster, host));
  }
}

async::awaitable<void> Controller::try_again(model::Host host, std::string why, Duration pause) {
  co_await record(host.cluster, host.name, model::HostStatus::failed, why);
  co_await async::sleep_for(pause);
  busy_.erase({host.cluster, host.name});
  co_await record(host.cluster, host.name, model::HostStatus::pending, why);
  co_await revisit(host.cluster, host.name);
}

async::awaitable<void> Controller::create(model::Cluster cluster, model::Host host) {
  const HostKey key{host.cluster, host.name};
  const std::string what = cannot_make(host.cluster, host.name);
  std::optional<std::string> failure;
  Duration pause{0};
  std::string token;
  auto work = [&] { provider_.create(complete_spec(cluster, host, token)); };
  const auto known = unknown_.find(key);
  if (known != unknown_.end() && has_addresses_of(known->second, host)) {
    log::info("hosts: '{}' of cluster '{}' runs already", host.name, host.cluster);
    unknown_.erase(known);
    co_await record(host.cluster, host.name, model::HostStatus::running, "");
    busy_.erase(key);
    co_await revisit(host.cluster, host.name);
    co_return;
  }
  try {
    if (known != unknown_.end()) {
      throw Error(Code::conflict, fmt::format("a host '{}' runs that this server does not know", host.name))
          .because("its addresses are others than those that this cluster gives to it")
          .advise("`underway down -all` takes it away");
    }
    if (options_.join_token) token = co_await options_.join_token(cluster.name, host.name, host.pool);
    co_await async::on_pool(pool_, work);
    succeeded(what);
  } catch (const Error& error) {
    failure = error.one_line();
    pause = failed(what, *failure);
  }
  if (failure) {
    co_await try_again(std::move(host), std::move(*failure), pause);
    co_return;
  }
  co_await record(host.cluster, host.name, model::HostStatus::running, "");
  busy_.erase(key);
  co_await revisit(host.cluster, host.name);
}

async::awaitable<void> Controller::destroy(std::string cluster, std::string name) {
  auto work = [&] { return provider_.destroy(cluster, name); };
  const std::string what = fmt::format("hosts: cannot remove host {} of cluster {}", name, cluster);
  Duration pause{0};
  try {
    co_await async::on_pool(pool_, work);
    HostStopped stopped{cluster, name};
    co_await server_.apply(std::move(stopped));
    succeeded(what);
    failing_.erase(cannot_make(cluster, name));
  } catch (const Error& error) {
    pause = failed(what, error.one_line());
  }
  if (pause > Duration{0}) co_await async::sleep_for(pause);
  busy_.erase({cluster, name});
  co_await revisit(std::move(cluster), std::move(name));
}

async::awaitable<void> Controller::forget(std::string cluster, std::string name) {
  HostGone forgotten{cluster, name};
  co_await server_.apply(std::move(forgotten));
  busy_.erase({cluster, name});
  co_await revisit(std::move(cluster), std::move(name));
}

async::awaitable<void> Controller::remove_cluster(std::string name) {
  auto work = [&] { return provider_.remove_cluster(name); };
  co_await async::on_pool(pool_, work);
  stopping_since_.erase(name);
  ClusterGone forgotten{std::move(name)};
  co_await server_.apply(std::move(forgotten));
}

async::awaitable<void> Controller::lose(std::string cluster, std::string name, std::string reason) {
  HostLost lost{std::move(cluster), std::move(name), std::move(reason)};
  co_await server_.apply(std::move(lost));
}

async::awaitable<void> Controller::revisit(std::string cluster, std::string name) {
  RevisitHost again{std::move(cluster), std::move(name)};
  co_await server_.apply(std::move(again));
}

async::awaitable<void> Controller::record(std::string cluster, std::string name, model::HostStatus status,
                                          std::string description) {
  RecordHost known{std::move(cluster), std::move(name), status, std::move(description)};
  co_await server_.apply(std::move(known));
}

}  // namespace underway::host
