#pragma once
/// @file
/// A class of nodes that can be made: what one of them has, what it costs, and how many there may be.

#include "model/elastic/policy.hpp"

namespace underway::elastic {

using model::cost_of;
using model::format_money;
using model::kUnit;
using model::Money;
using model::parse_money;

/// Where money, counts and starts of a class have their limits.
struct PoolClass : model::PoolElastic {
  std::string name;
  std::int64_t vcpus = 1;
  /// What the guest sees, not what the flavour says: a node that registers with less than its class says is drained by
  /// Slurm (facts 2.5: plan with 90 to 95 % of the flavour's).
  std::int64_t memory_mb = 1024;
  std::vector<std::string> features;
  std::int64_t min_nodes = 0, max_nodes = 0;

  Money hourly() const { return parse_money(cost_per_hour).value_or(0); }
  const std::string& counted_at() const { return provider.empty() ? name : provider; }
};

const describe::Structure& description(describe::Tag<PoolClass>);

}  // namespace underway::elastic
