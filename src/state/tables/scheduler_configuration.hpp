#pragma once
/// @file
/// The scheduler's configuration as it stands in the tables: a record, of which there is one.

#include "model/scheduler_configuration.hpp"
#include "tables/records.hpp"

namespace underway::tables {

template <>
struct RecordOf<model::SchedulerConfiguration> {
  static constexpr std::string_view kind = "scheduler-configuration";
  static std::string name(const model::SchedulerConfiguration&) { return "cluster"; }
};

/// To wait for a change of it.
inline Scope scheduler_configuration_scope() { return record_scope<model::SchedulerConfiguration>("cluster"); }

/// Reads it often for little: it is decoded when its row has changed. The defaults until it is written. Thread: that of
/// the tables.
class SchedulerConfigurationReader {
 public:
  /// Good until the next call.
  const model::SchedulerConfiguration& read(const Tables& tables) {
    auto row = tables.find<model::Record>(record_key<model::SchedulerConfiguration>("cluster"));
    if (row == row_) return value_;
    value_ = row ? decode_record<model::SchedulerConfiguration>(*row) : model::SchedulerConfiguration{};
    row_ = std::move(row);
    return value_;
  }

 private:
  Row<model::Record> row_;
  model::SchedulerConfiguration value_;
};

inline model::SchedulerConfiguration scheduler_configuration(const Tables& tables) {
  return SchedulerConfigurationReader().read(tables);
}

}  // namespace underway::tables
