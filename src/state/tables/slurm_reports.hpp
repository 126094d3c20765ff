#pragma once
/// @file
/// Reports about slurmctlds (model/slurm_report.hpp), one for each job that runs one.

#include "model/slurm_report.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::SlurmReport> {
  static constexpr std::string_view kind = "slurm-report";
  static std::string name(const model::SlurmReport& report) { return report.ns + "/" + report.job; }
};

}  // namespace underway::tables
