#pragma once
/// @file
/// Quotas as records, and the namespaces that they bound.

#include "model/access/namespace.hpp"
#include "model/access/quota.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::Quota> {
  static constexpr std::string_view kind = "quota";
  static std::string name(const model::Quota& quota) { return quota.name; }
};

/// The name of the quota that bounds the namespace; empty: none.
inline std::string quota_of(const Tables& tables, const std::string& ns) {
  const auto row = tables.find<model::Namespace>(ns);
  return row ? row->quota : std::string();
}

/// Namespaces that name the quota, in order.
inline std::vector<std::string> namespaces_of_quota(const Tables& tables, const std::string& quota) {
  std::vector<std::string> out;
  for (const auto& ns : tables.rows<model::Namespace>()) {
    if (ns->quota == quota) out.push_back(ns->name);
  }
  return out;
}

}  // namespace underway::tables
