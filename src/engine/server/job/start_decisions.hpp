#pragma once
/// @file
/// Decisions about jobs that start others: by the clock (`periodic`), and by dispatch (`parameterized`).
///
/// A start is one decision: the child, its evaluation and the record of the launch are in one commit, so that a crash
/// neither loses one nor doubles it. What was missed while no leader was there, or while a clock was wrong, is caught
/// up by one start, that of the latest time that was missed. A child's name says its time, and a name is used once: a
/// clock that is set back doubles nothing.

#include "model/job/launch.hpp"
#include "server/decision.hpp"
#include "tables/records.hpp"

namespace underway::tables {
template <>
struct RecordOf<model::PeriodicLaunch> {
  static constexpr std::string_view kind = "periodic-launch";
  static std::string name(const model::PeriodicLaunch& launch) { return launch.ns + "/" + launch.job_id; }
};
}  // namespace underway::tables

namespace underway::server {

/// Whether the job starts others by the clock now.
bool starts_by_the_clock(const model::Job& job);

/// Beside a new version of `job`: from now on it starts others by the clock, or does not any more.
void note_clock(std::vector<Change>& changes, const Tables& tables, const model::Job& job, const Context& context);

struct Started {
  std::string job_id;   ///< of the child
  std::string eval_id;  ///< empty: the child starts others itself, or was there already
};

struct Launches {
  std::vector<std::string> started;  ///< children
  std::vector<std::string> skipped;  ///< jobs whose last child still runs, and that prohibit overlap
  std::vector<std::string> trouble;  ///< for the log
};
/// Starts what is due.
struct StartDueJobs {};
Decision<Launches> decide(const Tables&, const StartDueJobs&, const Context&);
/// When StartDueJobs is to be asked next. `now` is not after it, as a rule.
std::optional<TimePoint> next_launch(const Tables& tables, TimePoint now);

/// Starts a child at once. Throws not_found; invalid when the job is not periodic, stopped or disabled; conflict when a
/// child still runs and overlap is prohibited.
struct ForcePeriodic {
  std::string ns, id;
};
Decision<Started> decide(const Tables&, const ForcePeriodic&, const Context&);

struct DispatchJob {
  std::string ns, id;
  std::string payload;  ///< the bytes
  model::StringMap meta;
  std::string id_prefix_template;
  std::optional<std::int64_t> priority;
  std::string idempotency_token;  ///< a child that was dispatched with the same one is the answer
};
/// Throws not_found, and invalid for what the job does not allow. Source of the rules: Nomad's documentation of
/// `parameterized`, and job_endpoint.go.
Decision<Started> decide(const Tables&, const DispatchJob&, const Context&);

/// Of a job that starts others.
struct Children {
  std::int64_t pending = 0, running = 0, dead = 0;
};
Children count_children(const Tables& tables, const model::Job& parent);
/// Children of the job, in the order of their ids.
std::vector<tables::Row<model::Job>> children_of(const Tables& tables, const model::Job& parent);

}  // namespace underway::server
