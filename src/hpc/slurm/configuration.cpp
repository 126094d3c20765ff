#include "slurm/configuration.hpp"

#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/elastic/growth.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

std::int64_t cpus_of(const model::Pool& pool, const Machine& machine) {
  return pool.cpus > 0 ? pool.cpus : machine.cpus();
}

std::int64_t memory_of(const model::Pool& pool, const Machine& machine) {
  return pool.memory_mb > 0 ? pool.memory_mb : machine.memory_mb;
}

std::string processors(const model::Pool& pool, const Machine& machine) {
  constexpr auto kLine = " CPUs={} Boards=1 SocketsPerBoard={} CoresPerSocket={} ThreadsPerCore={}";
  if (pool.cpus > 0) return fmt::format(kLine, pool.cpus, 1, pool.cpus, 1);
  return fmt::format(kLine, machine.cpus(), machine.sockets, machine.cores_per_socket, machine.threads_per_core);
}

/// The way in which the pools of a cluster join: one for all, as MaxNodeCount and the parameters are the cluster's.
struct Joining {
  JoinMode mode = JoinMode::fixed;
  Version slurmctld;
  std::optional<AskPrograms> asks;  ///< Slurm itself asks for hosts of some pool
};

/// How long an idle node stays. What has no fixed time, as ski_rental is weighed by our policy alone, has Slurm's.
std::int64_t idle_seconds(const model::Cluster& cluster, const model::Pool& pool) {
  constexpr std::int64_t kOtherwise = 600;
  auto text = pool.elastic->keep_alive;
  if (text.empty() && cluster.elastic) text = cluster.elastic->keep_alive;
  const auto span = text.empty() ? std::nullopt : parse_duration(text);
  // Of 0 some releases make "never".
  return span ? std::max<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(*span).count(), 1) : kOtherwise;
}

/// Slurm's programs, where a pool is to be asked for by it. The times are the cluster's: those of the slowest pool.
/// Slurm gives a boot up somewhat later than we do, so that it is told why.
std::optional<AskPrograms> programs_of(const model::Cluster& cluster) {
  constexpr std::int64_t kLater = 30, kLongest = 65'000;  // it is kept in 16 bits
  const std::string at = std::string(kAskDirectory) + "/";
  AskPrograms out{.resume = at + "resume", .suspend = at + "suspend", .resume_fail = at + "resume-fail"};
  out.resume_timeout = out.idle_before = 0;
  for (const auto& pool : cluster.pools) {
    if (!pool.slurm) continue;
    const bool asked = model::asked_by_slurm(pool);
    const auto always = asked ? pool.host_names() : pool.all_host_names();
    out.left_alone.insert(out.left_alone.end(), always.begin(), always.end());
    if (!asked) continue;
    const auto boot = std::chrono::ceil<std::chrono::seconds>(pool.elastic->boot_timeout).count() + kLater;
    out.resume_timeout = std::max(out.resume_timeout, std::min(boot, kLongest));
    out.idle_before = std::max(out.idle_before, idle_seconds(cluster, pool));
  }
  if (out.resume_timeout == 0) return std::nullopt;
  return out;
}

Joining joining_of(const model::Cluster& cluster, const Machine& machine) {
  Joining out;
  std::set<std::string> wishes;
  for (const auto& pool : cluster.pools) {
    if (pool.slurm) wishes.insert(pool.slurm->join);
  }
  if (wishes.empty()) return out;
  wishes.erase("auto");
  out.asks = programs_of(cluster);
  const bool opportunistic = std::any_of(cluster.pools.begin(), cluster.pools.end(), model::is_opportunistic);
  if (out.asks || opportunistic) wishes.insert("cloud");
  if (wishes.size() > 1)
    throw Error(Code::invalid,
                fmt::format("the pools of cluster '{}' cannot join Slurm in different ways", cluster.name))
        .because("MaxNodeCount and the parameters of slurmctld are those of the whole cluster")
        .advise("declare the same `join` in the `slurm` of each pool");
  if (!machine.slurm)
    throw Error(Code::invalid,
                fmt::format("the pools of cluster '{}' join Slurm, and this machine has none", cluster.name))
        .because("how they join, and what slurm.conf needs for it, depends on its release")
        .advise("install slurmd here, of the release that the cluster has");
  out.slurmctld = *machine.slurm;
  const auto choice = choose_join({.slurmctld = out.slurmctld, .select_type = "select/cons_tres"});
  out.mode = wishes.empty() ? choice.mode : *wishes.begin() == "cloud" ? JoinMode::cloud : JoinMode::dynamic;
  return out;
}

JoinConfiguration render(const Joining& joining, std::vector<ElasticPool> pools, std::int64_t others) {
  auto made = render_join(joining.mode, joining.slurmctld, pools, {}, {.other_nodes = others}, joining.asks);
  if (!made.problems.empty())
    throw Error(Code::invalid, "the pools cannot join Slurm as they are declared").because(made.problems);
  return made;
}

/// NodeName or NodeSet: the lines besides that of its partition, which is the site's.
std::string lines_of(const Joining& joining, const ElasticPool& pool) {
  std::vector<std::string> lines;
  for (auto& line : render(joining, {pool}, 0).lines) {
    if (!line.starts_with("PartitionName=")) lines.push_back(std::move(line));
  }
  return join(lines, "\n");
}

boost::json::array slurmd_of(const Joining& joining, const ElasticPool& pool) {
  boost::json::array out;
  for (const auto& word : slurmd_words(joining.mode, pool, "${attr.unique.hostname}"))
    out.emplace_back(boost::json::string(word));
  return out;
}

void add_joining(boost::json::object& root, const Joining& joining, const model::Cluster& cluster,
                 const Machine& machine) {
  std::vector<ElasticPool> pools;
  std::int64_t others = 0;
  for (const auto& pool : cluster.pools) {
    if (pool.slurm)
      pools.push_back(elastic_pool(pool, machine));
    else
      others += pool.size;
  }
  const std::map<std::string, std::string> lists = {{"SlurmctldParameters", "slurmctld_parameters"},
                                                    {"CommunicationParameters", "communication_parameters"},
                                                    {"PrivateData", "private_data"}};
  for (const auto& [key, name] : lists) root[name] = "";
  std::string options;
  if (!pools.empty()) {
    for (const auto& option : render(joining, std::move(pools), others).options) {
      const auto equals = option.find('=');
      if (const auto at = lists.find(option.substr(0, equals)); at != lists.end())
        root[at->second] = option.substr(equals + 1);
      else
        options += option + "\n";
    }
  }
  root["options"] = options;
}

}  // namespace

ElasticPool elastic_pool(const model::Pool& pool, const Machine& machine) {
  const bool declared = pool.cpus > 0;
  ElasticPool out{.name = pool.name,
                  .hosts = pool.all_host_names(),
                  .cpus = cpus_of(pool, machine),
                  .sockets = declared ? 1 : machine.sockets,
                  .threads_per_core = declared ? 1 : machine.threads_per_core,
                  .memory_mb = memory_of(pool, machine)};
  if (!pool.node_class.empty()) out.features.push_back(pool.node_class);
  out.features.insert(out.features.end(), pool.slurm->features.begin(), pool.slurm->features.end());
  return out;
}

std::string node_line(const model::Pool& pool, const Machine& machine) {
  if (pool.size == 0) return {};
  std::string line = "NodeName=" + fold_hosts(pool.host_names()) + processors(pool, machine);
  if (const auto memory = memory_of(pool, machine); memory > 0) line += fmt::format(" RealMemory={}", memory);
  if (!pool.node_class.empty()) line += " Feature=" + pool.node_class;
  return line + " State=UNKNOWN";
}

namespace {

std::string line_of(const model::Pool& pool, const Machine& machine, const Joining& joining) {
  return pool.slurm ? lines_of(joining, elastic_pool(pool, machine)) : node_line(pool, machine);
}

}  // namespace

std::string node_lines(const model::Cluster& cluster, const Machine& machine) {
  const auto joining = joining_of(cluster, machine);
  std::string out;
  for (const auto& pool : cluster.pools) {
    const auto line = line_of(pool, machine, joining);
    if (line.empty()) continue;
    if (!out.empty()) out += '\n';
    out += line;
  }
  return out;
}

boost::json::value job_file_root(const model::Cluster& cluster, const Machine& machine) {
  const auto joining = joining_of(cluster, machine);
  boost::json::object pools;
  for (const auto& pool : cluster.pools) {
    boost::json::object one{
        {"nodes", fold_hosts(pool.host_names())},       {"size", pool.size},
        {"node_line", line_of(pool, machine, joining)}, {"cpus", cpus_of(pool, machine)},
        {"memory", memory_of(pool, machine)},           {"overcommitted", cpus_of(pool, machine) > machine.cpus()}};
    if (pool.slurm) {
      const auto elastic = elastic_pool(pool, machine);
      one["nodes"] = joining.mode == JoinMode::dynamic ? pool.name : fold_hosts(elastic.hosts);
      one["slurmd"] = slurmd_of(joining, elastic);
    }
    pools[pool.name] = std::move(one);
  }
  boost::json::object root{
      {"nodes", node_lines(cluster, machine)},
      {"pools", std::move(pools)},
      {"machine",
       boost::json::object{{"cpus", machine.cpus()}, {"memory", machine.memory_mb}, {"cgroup", machine.cgroup}}}};
  add_joining(root, joining, cluster, machine);
  return root;
}

}  // namespace underway::slurm
