#pragma once
/// @file
/// What is left of a quota while one plan is made.

#include "scheduler/fleet/fleet_index.hpp"
#include "scheduler/fleet/quota.hpp"

namespace underway::scheduler {

class QuotaBook {
 public:
  /// `bound` outlives it.
  QuotaBook(FleetIndex& fleet, const QuotaBound& bound) : bound_(bound) {
    for (const auto& ns : bound.namespaces) used_.add(fleet.quota_use(ns, bound.count));
  }

  const std::string& name() const { return bound_.name; }
  std::vector<std::string> lacking(const QuotaUse& more) const { return exceeded(bound_.limit, used_, more); }
  void take(const QuotaUse& use) { used_.add(use); }
  /// Of whatever namespace.
  void take(const model::Allocation& allocation) { change(allocation, 1); }
  void give(const model::Allocation& allocation) { change(allocation, -1); }

 private:
  void change(const model::Allocation& allocation, int sign) {
    const auto& all = bound_.namespaces;
    if (std::find(all.begin(), all.end(), allocation.ns) != all.end()) used_.add(use_of(allocation), sign);
  }

  const QuotaBound& bound_;
  QuotaUse used_;
};

}  // namespace underway::scheduler
