#pragma once
/// @file
/// The hosts that pools have by the newest decision of growth (model/elastic/growth.hpp): a row for each such pool.

#include "model/elastic/growth.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::PoolHosts> {
  static constexpr std::string_view kind = "pool-hosts";
  static std::string name(const model::PoolHosts& hosts) { return hosts.cluster + "/" + hosts.pool; }
};

}  // namespace underway::tables
