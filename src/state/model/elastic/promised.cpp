#include "model/elastic/promised.hpp"

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "model/cluster.hpp"

namespace underway::model {
namespace {

/// What a guest's kernel keeps for itself before it counts what there is: its own image, and beside it a 64th of all,
/// for what it notes of each page. Measured: 44 MiB of 512 (Debian 12's for clouds).
constexpr std::int64_t kKernelMb = 48;

bool makes_way(const Pool& pool) { return pool.elastic && (pool.elastic->yields || pool.elastic->opportunistic); }

bool is_sold(const Pool& pool) { return pool.elastic && !pool.elastic->owner.empty(); }

std::int64_t most_hosts(const Pool& pool) { return std::max(pool.size, pool.slurm ? pool.slurm->most : 0); }

/// What the nodes of a pool have of one thing.
struct Holding {
  std::int64_t nodes = 0;
  std::int64_t each = 0;
  const char* unit = "";
  std::int64_t MachineSize::* of = nullptr;
};

/// Why the machines have no room; empty: they may have. A node has room for k machines of which each is larger than a
/// (k + 1)th of it, whichever they are, and all nodes together for no more than they have.
std::string lacks(const Holding& has, const std::vector<PromisedHosts>& promised) {
  if (has.each <= 0) return {};
  std::int64_t all = 0;
  for (const auto& one : promised) {
    const auto size = one.size.*has.of;
    all += one.count * size;
    if (size <= 0) continue;
    const auto fit = has.each / size;
    std::int64_t as_large = 0, least = size;
    for (const auto& other : promised) {
      const auto its = other.size.*has.of;
      if (its * (fit + 1) <= has.each) continue;
      as_large += other.count;
      least = std::min(least, its);
    }
    if (as_large > fit * has.nodes)
      return fmt::format(
          "a node of {} {} has room for {} that hold {} or more, so there is room for {}, and {} are wanted", has.each,
          has.unit, fit, least, fit * has.nodes, as_large);
  }
  if (all > has.nodes * has.each)
    return fmt::format("together they hold {} {}, and {} nodes have {}", all, has.unit, has.nodes,
                       has.nodes * has.each);
  return {};
}

}  // namespace

std::int64_t guest_memory_mb(const Pool& pool) { return pool.memory_mb + kKernelMb + pool.memory_mb / 50; }

MachineSize machine_size(const Pool& pool) {
  MachineSize out{.cpu = 0, .memory_mb = guest_memory_mb(pool) + kQemuMb};
  if (!pool.machine || pool.machine->pin) return out;
  out.cpu = pool.machine->cpu > 0 ? pool.machine->cpu : kMachineMhzPerCpu * pool.cpus;
  return out;
}

std::vector<PromisedHosts> promised_hosts(const Cluster& cluster) {
  std::vector<PromisedHosts> out;
  bool any = false;
  for (const auto& pool : cluster.pools) {
    if (pool.provider != "qemu" || !pool.machine || makes_way(pool)) continue;
    const bool sold = is_sold(pool);
    const auto count = sold ? most_hosts(pool) : pool.size;
    if (count > 0) out.push_back({pool.name, pool.machine->on, count, sold, machine_size(pool)});
    any = any || sold;
  }
  if (!any) out.clear();
  return out;
}

std::string sold_text(const std::vector<PromisedHosts>& promised) {
  std::vector<std::string> pools;
  std::int64_t all = 0;
  for (const auto& one : promised) {
    if (!one.sold) continue;
    all += one.count;
    pools.push_back(fmt::format("{} {}", one.pool, one.count));
  }
  return fmt::format("{} host{} ({})", all, all == 1 ? "" : "s", join(pools, ", "));
}

std::vector<std::string> broken_promises(const Cluster& cluster) {
  std::vector<std::string> out;
  std::map<std::string, std::vector<PromisedHosts>> by_holder;
  for (auto& one : promised_hosts(cluster)) by_holder[one.on].push_back(one);
  for (const auto& [on, promised] : by_holder) {
    const auto* holder = cluster.find_pool(on);
    const bool any = std::any_of(promised.begin(), promised.end(), [](const auto& one) { return one.sold; });
    if (!any || holder == nullptr || holder->provider == "qemu") continue;
    const auto nodes = most_hosts(*holder);
    for (const Holding& has : {Holding{nodes, holder->memory_total_mb, "MiB", &MachineSize::memory_mb},
                               Holding{nodes, holder->cpu_total_compute, "MHz", &MachineSize::cpu}}) {
      const auto why = lacks(has, promised);
      if (why.empty()) continue;
      out.push_back(
          fmt::format("pool '{}': owners are promised {} on its {} node{}, and never have them, whoever sleeps: {}; "
                      "promise less (`slurm.most`), or declare more nodes",
                      on, sold_text(promised), nodes, nodes == 1 ? "" : "s", why));
      break;
    }
  }
  std::int64_t sold = 0;
  for (const auto& pool : cluster.pools) sold += is_sold(pool) ? most_hosts(pool) : 0;
  const auto most = cluster.elastic ? cluster.elastic->max_nodes : 0;
  if (most > 0 && sold > most)
    out.push_back(fmt::format(
        "elastic: max_nodes: owners are promised {} hosts, and all pools together have {} at most", sold, most));
  return out;
}

}  // namespace underway::model
