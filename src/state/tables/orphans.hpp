#pragma once
/// @file
/// Records of the kind "orphans", one per node that has some, by the node's id.

#include "model/node/orphans.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::Orphans> {
  static constexpr std::string_view kind = "orphans";
  static std::string name(const model::Orphans& orphans) { return orphans.node_id; }
};

}  // namespace underway::tables
