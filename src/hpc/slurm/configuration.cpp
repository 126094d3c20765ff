#include "slurm/configuration.hpp"

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

}  // namespace

std::string node_line(const model::Pool& pool, const Machine& machine) {
  if (pool.size == 0) return {};
  std::string line = "NodeName=" + fold_hosts(pool.host_names()) + processors(pool, machine);
  if (const auto memory = memory_of(pool, machine); memory > 0) line += fmt::format(" RealMemory={}", memory);
  if (!pool.node_class.empty()) line += " Feature=" + pool.node_class;
  return line + " State=UNKNOWN";
}

std::string node_lines(const model::Cluster& cluster, const Machine& machine) {
  std::string out;
  for (const auto& pool : cluster.pools) {
    if (pool.size == 0) continue;
    if (!out.empty()) out += '\n';
    out += node_line(pool, machine);
  }
  return out;
}

boost::json::value job_file_root(const model::Cluster& cluster, const Machine& machine) {
  boost::json::object pools;
  for (const auto& pool : cluster.pools) {
    pools[pool.name] = boost::json::object{
        {"nodes", fold_hosts(pool.host_names())}, {"size", pool.size},
        {"node_line", node_line(pool, machine)},  {"cpus", cpus_of(pool, machine)},
        {"memory", memory_of(pool, machine)},     {"overcommitted", cpus_of(pool, machine) > machine.cpus()}};
  }
  return boost::json::object{
      {"nodes", node_lines(cluster, machine)},
      {"pools", std::move(pools)},
      {"machine",
       boost::json::object{{"cpus", machine.cpus()}, {"memory", machine.memory_mb}, {"cgroup", machine.cgroup}}}};
}

}  // namespace underway::slurm
