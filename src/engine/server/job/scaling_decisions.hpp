#pragma once
/// @file
/// Decisions about the counts of groups: what people and autoscalers ask for, within a group's `scaling` block.

#include "model/job/scaling_event.hpp"
#include "server/job/job_decisions.hpp"
#include "tables/records.hpp"

namespace underway::tables {
template <>
struct RecordOf<model::ScalingEvents> {
  static constexpr std::string_view kind = "scaling-events";
  static std::string name(const model::ScalingEvents& events) { return events.ns + "/" + events.job_id; }
};
}  // namespace underway::tables

namespace underway::server {

struct ScaleJob {
  std::string ns, id, group;
  std::optional<std::int64_t> count;  ///< absent: the message alone is kept
  std::string message;
  bool error = false;  ///< what an autoscaler failed at; goes without a count
  boost::json::value meta = boost::json::object{};
};
/// A new version with that count, an evaluation and an event; eval_id is empty when the count is not asked for, or the
/// job starts others. Throws not_found; invalid outside of the bounds, for system jobs, for a job that is stopped, and
/// while a deployment is active.
Decision<Registered> decide(const Tables&, const ScaleJob&, const Context&);

/// A `scaling` block where it is found. Its id is made of what it is about, and so is the same for each version.
struct ScalingPolicy {
  std::string id;
  tables::Row<model::Job> job;
  std::string group, task;  ///< `task` is empty for the count of the group
  const model::Scaling* scaling = nullptr;
};
/// Of jobs that are not stopped, in the order of jobs; ns "*" is all.
std::vector<ScalingPolicy> scaling_policies(const Tables& tables, const std::string& ns);

}  // namespace underway::server
