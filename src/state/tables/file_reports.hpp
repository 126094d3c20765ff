#pragma once
/// @file
/// What nodes say of their files (model/file.hpp): a row for each node, and for each capsule with files of its own.

#include "model/file.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::FileReport> {
  static constexpr std::string_view kind = "file_report";
  static std::string name(const model::FileReport& report) { return model::report_key(report.node_id, report.capsule); }
};

}  // namespace underway::tables
