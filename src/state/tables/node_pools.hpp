#pragma once
/// @file
/// Node pools as records. The two that always are have no row until somebody changes them.

#include "model/node/node_pool.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::NodePool> {
  static constexpr std::string_view kind = "node-pool";
  static std::string name(const model::NodePool& pool) { return pool.name; }
};

/// Nothing when there is no such pool.
inline std::optional<model::NodePool> find_node_pool(const Tables& tables, std::string_view name) {
  if (auto row = find_record<model::NodePool>(tables, name)) return row;
  if (name != model::kDefaultNodePool && name != model::kEveryNodePool) return std::nullopt;
  model::NodePool built_in;
  built_in.name = name;
  built_in.description =
      name == model::kEveryNodePool ? "Node pool with all nodes in the cluster." : "Default node pool.";
  built_in.create_index = built_in.modify_index = 1;
  return built_in;
}

/// By name.
inline std::vector<model::NodePool> node_pools(const Tables& tables) {
  std::vector<model::NodePool> out = records<model::NodePool>(tables);
  for (const auto* name : {model::kDefaultNodePool, model::kEveryNodePool}) {
    if (!find_record<model::NodePool>(tables, name)) out.push_back(*find_node_pool(tables, name));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace underway::tables
