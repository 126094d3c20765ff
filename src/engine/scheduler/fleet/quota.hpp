#pragma once
/// @file
/// What allocations use of what quotas bound.

#include "model/access/quota.hpp"
#include "tables/tables.hpp"

namespace underway::scheduler {

struct QuotaUse {
  std::int64_t cpu = 0;  ///< MHz that tasks share
  std::int64_t cores = 0;
  std::int64_t memory_mb = 0;
  std::int64_t memory_max_mb = 0;
  std::map<std::string, std::int64_t> devices;  ///< instances, by "vendor/type/model", or as they are asked for

  void add(const QuotaUse& more, int sign = 1);
  /// Of devices that are, or could turn out to be, what `name` says.
  std::int64_t count(const std::string& name) const;
};

/// Of one allocation of the group, before it is known which devices it gets.
QuotaUse use_of(const model::TaskGroup& group);
/// Of an allocation, whether it still holds something or not.
QuotaUse use_of(const model::Allocation& allocation);
/// Of those of the namespace that hold something.
QuotaUse quota_use(const tables::Tables& tables, const std::string& ns);

/// What there would be too little of, in the words of Nomad's metrics: "memory exhausted (600 needed > 500 limit)".
std::vector<std::string> exceeded(const model::QuotaResources& limit, const QuotaUse& used, const QuotaUse& more);

/// What holds for an evaluation.
struct QuotaBound {
  std::string name;
  model::QuotaResources limit;
  std::vector<std::string> namespaces;
  std::function<QuotaUse(const std::string& ns)> count;  ///< asked once for each, and again when the fleet is reset
};

}  // namespace underway::scheduler
