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

/// What holds until somebody writes it: tasks may have up to the memory_max that their jobs ask for, unlike in Nomad.
inline model::SchedulerConfiguration default_scheduler_configuration() {
  model::SchedulerConfiguration configuration;
  configuration.memory_oversubscription = true;
  return configuration;
}

/// Reads it often for little: it is decoded when its row has changed. The defaults until it is written. Thread: that of
/// the tables.
class SchedulerConfigurationReader {
 public:
  /// Good until the next call.
  const model::SchedulerConfiguration& read(const Tables& tables) {
    auto row = tables.find<model::Record>(record_key<model::SchedulerConfiguration>("cluster"));
    if (row == row_) return value_;
    value_ = row ? decode_record<model::SchedulerConfiguration>(*row) : default_scheduler_configuration();
    row_ = std::move(row);
    return value_;
  }

 private:
  Row<model::Record> row_;
  model::SchedulerConfiguration value_ = default_scheduler_configuration();
};

inline model::SchedulerConfiguration scheduler_configuration(const Tables& tables) {
  return SchedulerConfigurationReader().read(tables);
}

}  // namespace underway::tables
