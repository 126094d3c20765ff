#pragma once
/// @file
/// The hosts that a pool with `elastic` has by the newest decision: the host controller makes and ends hosts so that it
/// has these.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::model {

struct PoolHosts {
  std::string cluster, pool;
  std::vector<std::string> hosts;  ///< names, of Pool::all_host_names()
  /// By host: since when it is wanted, ns since the epoch.
  std::map<std::string, std::int64_t> asked_at;
  std::map<std::string, std::string> gangs;  ///< by host: the Slurm job of several nodes that it is made for
};

struct Pool;
/// What such a pool is to have: of the newest decision the hosts that it may have, and never fewer than its size. Of
/// one that Slurm asks for the first hosts are always there: Slurm is told by their names which ones it may not
/// suspend.
std::vector<std::string> hosts_to_have(const Pool& pool, const std::optional<PoolHosts>& decided);

/// Whether Slurm itself asks for the hosts of the pool (PoolElastic::asked_by).
bool asked_by_slurm(const Pool& pool);
/// Whether its hosts are taken back at any time (PoolElastic::opportunistic).
bool is_opportunistic(const Pool& pool);

const describe::Structure& description(describe::Tag<PoolHosts>);

}  // namespace underway::model
