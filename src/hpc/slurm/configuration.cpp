#include "slurm/configuration.hpp"

#include "slurm/hostlist.hpp"

namespace underway::slurm {
namespace {

std::string node_line(const model::Pool& pool) {
  std::string line = "NodeName=" + fold_hosts(pool.host_names());
  if (pool.cpus > 0)
    line += fmt::format(" CPUs={0} Boards=1 SocketsPerBoard=1 CoresPerSocket={0} ThreadsPerCore=1", pool.cpus);
  if (pool.memory_mb > 0) line += fmt::format(" RealMemory={}", pool.memory_mb);
  if (!pool.node_class.empty()) line += " Feature=" + pool.node_class;
  return line + " State=UNKNOWN";
}

}  // namespace

std::string node_lines(const model::Cluster& cluster) {
  std::string out;
  for (const auto& pool : cluster.pools) {
    if (pool.size == 0) continue;
    if (!out.empty()) out += '\n';
    out += node_line(pool);
  }
  return out;
}

boost::json::value job_file_root(const model::Cluster& cluster) {
  boost::json::object pools;
  for (const auto& pool : cluster.pools) {
    pools[pool.name] = boost::json::object{{"nodes", fold_hosts(pool.host_names())}, {"size", pool.size}};
  }
  return boost::json::object{{"nodes", node_lines(cluster)}, {"pools", std::move(pools)}};
}

}  // namespace underway::slurm
