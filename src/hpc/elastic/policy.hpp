#pragma once
/// @file
/// A policy as it is decided by: what an administrator writes (model/elastic/policy.hpp), with the classes that it is
/// about.

#include "elastic/pool_class.hpp"
#include "model/elastic/policy.hpp"

namespace underway::elastic {

using model::BreakerPolicy;
using model::Budget;
using model::ForecastMode;
using model::ForecastPolicy;
using model::Promises;
using model::ProviderQuota;
using model::Threshold;

struct Policy : model::ElasticPolicy {
  std::vector<PoolClass> classes;

  const PoolClass* find_class(std::string_view name) const;
};

/// Everything that is wrong with it, each with its name and number.
std::vector<std::string> problems(const Policy& policy);

/// How long an idle node of the class is kept. By the ski-rental rule until idling has cost as much as the boot that
/// it saves, which never costs more than twice what one who knew the future would have paid (Karlin et al. 1988,
/// "Competitive snoopy caching"): a boot is paid for the whole of its start time, so that is the start time itself.
/// Both cost the node's price per hour, so the price cancels out; nothing shorter than a minute, as Slurm looks for
/// jobs only every 30 s.
Duration keep_alive_of(const Policy& policy, const PoolClass& pool_class);

const describe::Structure& description(describe::Tag<Policy>);

}  // namespace underway::elastic
