#pragma once
/// @file
/// A class of nodes that can be made: what one of them has, what it costs, and how many there may be.

#include "base/json/describe.hpp"
#include "elastic/money.hpp"

namespace underway::elastic {

/// Where money, counts and starts of a class have their limits.
struct PoolClass {
  std::string name;
  std::string provider;  ///< whose quota it counts against; empty: its own name
  std::int64_t vcpus = 1;
  /// What the guest sees, not what the flavour says: a node that registers with less than its class says is drained by
  /// Slurm (facts 2.5: plan with 90 to 95 % of the flavour's).
  std::int64_t memory_mb = 1024;
  std::vector<std::string> features;
  std::vector<std::string> partitions;  ///< whose jobs it serves; none: all
  std::int64_t min_nodes = 0, max_nodes = 0;
  std::string cost_per_hour = "0";         ///< of one node, "0.35"
  Duration start_time{60'000'000'000};     ///< from asking for a node until it is idle, as expected
  Duration boot_timeout{600'000'000'000};  ///< after that a boot has failed
  std::string topology_group;              ///< nodes of one group are near each other; a gang stays in one
  bool opportunistic = false;              ///< taken back at any time: no promise
  std::string keep_alive;                  ///< "ski_rental" or a duration; empty: the policy's
  std::string owner;                       ///< account that paid for these nodes: its jobs go first on them

  Money hourly() const { return parse_money(cost_per_hour).value_or(0); }
  const std::string& counted_at() const { return provider.empty() ? name : provider; }
};

const describe::Structure& description(describe::Tag<PoolClass>);

}  // namespace underway::elastic
