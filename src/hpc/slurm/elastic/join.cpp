#include "slurm/elastic/join.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

constexpr Version kDynamicNodes{22, 5, 0}, kConsTresByDefault{23, 2, 0};
/// 24.11 refuses a job of several nodes while no dynamic node is there ("Requested node configuration is not
/// available"), and 22.05 has it wait. Of the releases between them nobody has tried it.
constexpr Version kRefusesWithoutNodes{23, 2, 0};
/// From here on powered-down nodes are shown, whatever PrivateData says.
constexpr Version kCloudVisible{23, 2, 0};
/// From here on addresses are those of the registration, are not remembered elsewhere, and messages are fanned out to
/// nodes whose addresses slurm.conf does not have.
constexpr Version kAddressesFollow{23, 11, 0};
/// Wider than any cluster: slurmctld speaks to each node itself. Source: slurm.conf(5), TreeWidth.
constexpr int kNoFanOut = 65533;

bool has_topology(const std::string& plugin) {
  const auto name = lower(plugin);
  return !name.empty() && name != "topology/none" && name != "topology/default" && name != "topology/flat";
}

/// `value`, a list with commas, with `word` in it.
void add(std::string& value, const std::string& word) {
  for (const auto& there : split_list(value)) {
    if (lower(there) == lower(word)) return;
  }
  value += (value.empty() ? "" : ",") + word;
}

bool has(const std::string& value, std::string_view word) {
  const auto words = split_list(value);
  return std::any_of(words.begin(), words.end(), [&](const auto& there) { return lower(there) == word; });
}

std::string shape(const ElasticPool& pool) {
  const auto per_socket = std::max<std::int64_t>(1, pool.sockets * pool.threads_per_core);
  std::string out = fmt::format("CPUs={} Boards=1 SocketsPerBoard={} CoresPerSocket={} ThreadsPerCore={}", pool.cpus,
                                pool.sockets, std::max<std::int64_t>(1, pool.cpus / per_socket), pool.threads_per_core);
  if (pool.memory_mb > 0) out += fmt::format(" RealMemory={}", pool.memory_mb);
  std::vector<std::string> features = {pool.name};
  for (const auto& feature : pool.features) {
    if (std::find(features.begin(), features.end(), feature) == features.end()) features.push_back(feature);
  }
  out += " Feature=" + join(features, ",");
  if (!pool.gres.empty()) out += " Gres=" + pool.gres;
  return out;
}

/// The pool's hosts as the leaves have them; what is on none comes last, and is told of.
std::vector<std::vector<std::string>> in_leaf_order(const ElasticPool& pool, const std::vector<Leaf>& leaves,
                                                    std::vector<std::string>& problems) {
  if (leaves.empty()) return {pool.hosts};
  std::set<std::string> left(pool.hosts.begin(), pool.hosts.end());
  std::vector<std::vector<std::string>> out;
  for (const auto& leaf : leaves) {
    std::vector<std::string> here;
    for (const auto& host : leaf.hosts) {
      if (left.erase(host) > 0) here.push_back(host);
    }
    if (!here.empty()) out.push_back(std::move(here));
  }
  if (!left.empty()) {
    const std::vector<std::string> names(left.begin(), left.end());
    problems.push_back(
        fmt::format("{} of the pool '{}' {} on no switch of topology.conf, so no job that asks for one "
                    "would get {}",
                    fold_hosts(names), pool.name, names.size() == 1 ? "is" : "are", names.size() == 1 ? "it" : "them"));
    out.push_back(names);
  }
  return out;
}

/// `asks`: power saving is on.
void add_options(JoinConfiguration& out, JoinMode mode, const Version& slurmctld, std::int64_t nodes, bool asks,
                 SiteParameters site) {
  if (mode == JoinMode::fixed) return;
  if (mode == JoinMode::dynamic) {
    if (has(site.slurmctld, "cloud_dns"))
      out.problems.emplace_back(
          "SlurmctldParameters has cloud_dns, with which Slurm looks every dynamic node up by its name: remove it");
    out.options.push_back(fmt::format("MaxNodeCount={}", nodes + site.other_nodes));
    out.options.emplace_back("SelectType=select/cons_tres");
  }
  if (slurmctld < kAddressesFollow) {
    out.options.push_back(fmt::format("TreeWidth={}", kNoFanOut));
    add(site.slurmctld, "cloud_reg_addrs");
    add(site.communication, "NoAddrCache");
  }
  // A node that is down, as it did not boot, may be asked for again once it was powered down: else it stays down until
  // somebody lets it in.
  if (asks && mode == JoinMode::cloud) add(site.slurmctld, "idle_on_node_suspend");
  // What is down since it went, or was booted anew, is idle when it registers.
  out.options.emplace_back("ReturnToService=2");
  if (mode == JoinMode::cloud && slurmctld < kCloudVisible) add(site.private_data, "cloud");
  if (!site.slurmctld.empty()) out.options.push_back("SlurmctldParameters=" + site.slurmctld);
  if (!site.communication.empty()) out.options.push_back("CommunicationParameters=" + site.communication);
  if (!site.private_data.empty()) out.options.push_back("PrivateData=" + site.private_data);
}

void add_programs(JoinConfiguration& out, JoinMode mode, const AskPrograms& asks) {
  if (mode != JoinMode::cloud) {
    out.problems.push_back(fmt::format(
        "Slurm asks for nodes that have State=CLOUD, and these are {}: it would never ask", to_string(mode)));
    return;
  }
  out.options.push_back("ResumeProgram=" + asks.resume);
  out.options.push_back("SuspendProgram=" + asks.suspend);
  if (!asks.resume_fail.empty()) out.options.push_back("ResumeFailProgram=" + asks.resume_fail);
  out.options.push_back(fmt::format("ResumeTimeout={}", asks.resume_timeout));
  out.options.push_back(fmt::format("SuspendTimeout={}", asks.suspend_timeout));
  out.options.push_back(fmt::format("SuspendTime={}", asks.idle_before));
  // The rates are per minute, and whoever makes the nodes has limits of his own.
  out.options.emplace_back("ResumeRate=0");
  out.options.emplace_back("SuspendRate=0");
  if (!asks.left_alone.empty()) out.options.push_back("SuspendExcNodes=" + fold_hosts(asks.left_alone));
}

}  // namespace

const char* to_string(JoinMode mode) {
  switch (mode) {
    case JoinMode::dynamic:
      return "dynamic";
    case JoinMode::cloud:
      return "cloud";
    case JoinMode::fixed:
      return "fixed";
  }
  return "";
}

JoinChoice choose_join(const JoinConditions& conditions) {
  const auto& release = conditions.slurmctld;
  if (!conditions.elastic) return {JoinMode::fixed, "the pool has the same nodes always"};
  if (release < kDynamicNodes)
    return {JoinMode::cloud,
            fmt::format("Slurm {} has no dynamic nodes, which came with {}", release.major(), kDynamicNodes.major())};
  const auto select = conditions.select_type.empty() && release >= kConsTresByDefault ? std::string("select/cons_tres")
                                                                                      : conditions.select_type;
  if (lower(select) != "select/cons_tres")
    return {JoinMode::cloud, fmt::format("dynamic nodes need SelectType=select/cons_tres, and slurm.conf has {}",
                                         select.empty() ? "Slurm's default, select/cons_res" : select)};
  if (release >= kRefusesWithoutNodes)
    return {JoinMode::cloud,
            fmt::format("Slurm {} may refuse a job of several nodes while no dynamic node is there", release.major())};
  if (has_topology(conditions.topology_plugin))
    return {JoinMode::cloud, fmt::format("the site has {}, in which dynamic nodes of Slurm {} have no place",
                                         conditions.topology_plugin, release.major())};
  return {JoinMode::dynamic,
          fmt::format("Slurm {} has dynamic nodes, and no topology asks for a place for them", release.major())};
}

std::string JoinConfiguration::text() const {
  std::string out;
  for (const auto* part : {&options, &lines}) {
    for (const auto& line : *part) out += line + "\n";
  }
  return out;
}

JoinConfiguration render_join(JoinMode mode, const Version& slurmctld, const std::vector<ElasticPool>& pools,
                              const std::vector<Leaf>& leaves, const SiteParameters& site,
                              const std::optional<AskPrograms>& asks) {
  JoinConfiguration out;
  std::int64_t nodes = 0;
  for (const auto& pool : pools) nodes += static_cast<std::int64_t>(pool.hosts.size());
  if (mode == JoinMode::dynamic && slurmctld < kDynamicNodes)
    out.problems.push_back(fmt::format("Slurm {} has no dynamic nodes", slurmctld.major()));
  add_options(out, mode, slurmctld, nodes, asks.has_value(), site);
  if (asks) add_programs(out, mode, *asks);
  for (const auto& pool : pools) {
    if (mode == JoinMode::dynamic) {
      out.lines.push_back(fmt::format("NodeSet={0} Feature={0}", pool.name));
      out.lines.push_back(fmt::format("PartitionName={0} Nodes={0}", pool.name));
      continue;
    }
    if (pool.hosts.empty()) continue;
    const auto groups = in_leaf_order(pool, leaves, out.problems);
    for (const auto& hosts : groups)
      out.lines.push_back(fmt::format("NodeName={} {} Weight=1 State={}", fold_hosts(hosts), shape(pool),
                                      mode == JoinMode::cloud ? "CLOUD" : "UNKNOWN"));
    out.lines.push_back(fmt::format("PartitionName={} Nodes={}", pool.name, fold_hosts(pool.hosts)));
  }
  return out;
}

std::vector<std::string> slurmd_words(JoinMode mode, const ElasticPool& pool, const std::string& host) {
  switch (mode) {
    case JoinMode::dynamic:
      return {"-b", "-Z", "-N", host, "--conf", shape(pool)};
    case JoinMode::cloud:
      return {"-b", "-N", host};
    case JoinMode::fixed:
      return {"-N", host};
  }
  return {};
}

}  // namespace underway::slurm
