#include "model/elastic/growth.hpp"

#include <algorithm>
#include <set>

#include "model/cluster.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

std::vector<std::string> hosts_to_have(const Pool& pool, const std::optional<PoolHosts>& decided) {
  if (!pool.elastic) return pool.host_names();
  const auto all = pool.all_host_names();
  std::set<std::string> kept;
  if (decided) kept.insert(decided->hosts.begin(), decided->hosts.end());
  if (asked_by_slurm(pool)) {
    for (const auto& name : pool.host_names()) kept.insert(name);
  }
  std::vector<std::string> out;
  for (const auto& name : all) {
    if (kept.contains(name)) out.push_back(name);
  }
  for (const auto& name : all) {
    if (static_cast<std::int64_t>(out.size()) >= pool.size) break;
    if (!kept.contains(name)) out.push_back(name);
  }
  return out;
}

bool asked_by_slurm(const Pool& pool) { return pool.elastic && pool.elastic->asked_by == AskedBy::slurm; }
bool is_opportunistic(const Pool& pool) { return pool.elastic && pool.elastic->opportunistic; }

const Structure& description(Tag<PoolHosts>) {
  static const Structure s =
      Builder<PoolHosts>("pool hosts", "The hosts that a pool which grows and shrinks has by the newest decision.")
          .wire<&PoolHosts::cluster>("Cluster", "The pool's cluster.")
          .wire<&PoolHosts::pool>("Pool", "The pool.")
          .wire<&PoolHosts::hosts>("Hosts", "Names of its hosts.")
          .wire<&PoolHosts::asked_at>("AskedAt", "Unix time in nanoseconds since when each is wanted, by host.")
          .wire<&PoolHosts::gangs>("Gangs", "By host: the Slurm job of several nodes that it is made for.")
          .done();
  return s;
}

}  // namespace underway::model
