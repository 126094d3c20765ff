#pragma once
/// @file
/// What goes into a scheduling, and what comes out: a situation, and the plan for it. Values alone.

#include "base/random.hpp"
#include "model/node/host_volume.hpp"
#include "model/scheduler_configuration.hpp"
#include "scheduler/fleet/quota.hpp"

#include <functional>
#include <span>

namespace underway::scheduler {

/// A job pushes aside what is at least so far below its priority.
inline constexpr std::int64_t kPreemptionDistance = 10;

/// What operators have set for jobs of a type in a pool.
struct Rules {
  model::SchedulerAlgorithm algorithm = model::SchedulerAlgorithm::binpack;
  bool preempts = false;      ///< may push aside what is of lower priority
  bool memory_beyond = true;  ///< tasks may have up to `memory_max`
};

struct Options {
  /// Seconds of clock difference by which a delayed replacement may start early.
  Duration clock_slack = std::chrono::seconds(1);
  /// The only node on which allocations of a group are placed; nothing, or no function: any that fits.
  std::function<std::optional<std::string>(const tables::Tables&, const model::Job&, const model::TaskGroup&)> home;
};

struct Context {
  TimePoint now;
  IdSource& ids;
  Options options = {};
};

/// What a plan does to one group, as `job plan` counts it.
struct GroupChanges {
  std::int64_t place = 0;
  std::int64_t stop = 0;
  std::int64_t in_place = 0;
  std::int64_t destructive = 0;
  std::int64_t migrate = 0;    ///< moved by a drain
  std::int64_t lost = 0;       ///< stopped because their node is gone; what replaces them counts as placed
  std::int64_t ignore = 0;     ///< left as they are
  std::int64_t canary = 0;     ///< placed to be judged before the others follow
  std::int64_t preempted = 0;  ///< of other jobs, that make way
};

struct Plan {
  std::vector<model::Allocation> created;    ///< complete rows
  std::vector<model::Allocation> stopped;    ///< rows as they shall be: desired stop, with the reason
  std::vector<model::Allocation> updated;    ///< in place: only the job version (and evaluation) changed
  std::vector<model::Allocation> preempted;  ///< of other jobs: rows as they shall be, desired evict
  /// Nothing is done about them; only what is known changed: unknown, heard of again, when they will be replaced.
  std::vector<model::Allocation> noted;
  model::Evaluation evaluation;  ///< the one that was scheduled, as it shall be: complete, or blocked again
  std::vector<model::Evaluation> evaluations;  ///< others to put: blocked, delayed (wait_until), canceled
  std::vector<model::Deployment> deployments;  ///< begun, moved on or ended
  std::vector<model::HostVolumeClaim> claims;  ///< on sticky volumes
  bool stable = false;                         ///< the version was rolled out: it is one to go back to
  std::optional<model::JobStatus> job_status;  ///< when it changes
  tables::Row<model::Job> job;                 ///< what was planned for; null when the job is gone
  std::map<std::string, GroupChanges> groups;

  /// Whether it changes any allocation.
  bool changes_allocations() const { return !created.empty() || !stopped.empty() || !updated.empty(); }
  /// Takes the plan apart into what the writer applies.
  std::vector<tables::Change> take_changes() &&;
};

/// What the scheduler reads of the tables for one evaluation; the rest comes from the fleet.
struct Situation {
  tables::Row<model::Job> job;                                  ///< null: it is gone
  std::span<const tables::Row<model::Allocation>> allocations;  ///< all of the job
  std::vector<tables::Row<model::Evaluation>> evaluations;      ///< all of the job
  tables::Row<model::Deployment> deployment;                    ///< the job's newest; null: it never had one
  /// The newest stable version of the job, or null; may be empty. Asked only while a rollout is held up.
  std::function<tables::Row<model::Job>()> stable;
  /// Allocations on a node, to name the one that holds a port; may be empty.
  std::function<std::span<const tables::Row<model::Allocation>>(const std::string& node_id)> on_node;
  /// Whether an allocation makes way for nobody of this priority, though its own is low enough; may be empty.
  std::function<bool(const model::Allocation&, std::int64_t priority)> spared;
  Rules rules;
  std::optional<QuotaBound> quota;             ///< of the job's namespace
  std::vector<model::HostVolumeClaim> claims;  ///< of the job
  /// Options::home, of these tables; may be empty.
  std::function<std::optional<std::string>(const model::Job&, const model::TaskGroup&)> home;
};

}  // namespace underway::scheduler
