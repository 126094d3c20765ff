#pragma once
/// @file
/// Hosts of opportunistic pools that are taken back (model/elastic/recall.hpp): a row for each recall in force.

#include "model/elastic/recall.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::Recall> {
  static constexpr std::string_view kind = "recall";
  static std::string name(const model::Recall& recall) { return recall.cluster + "/" + std::to_string(recall.number); }
};

}  // namespace underway::tables
