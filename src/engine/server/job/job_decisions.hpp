#pragma once
/// @file
/// Decisions about jobs: register, stop, evaluate; and a cluster's directory as a whole.

#include "model/access/namespace.hpp"
#include "server/variable/variable_decisions.hpp"

namespace underway::server {

struct RegisterJob {
  model::Job job;
  std::optional<model::JobSubmission> submission;
  /// Refuse unless the job's job_modify_index is this (0: unless it does not exist).
  std::optional<model::Revision> enforce_index;
  /// Namespaces that are made together with the job: they stand for those in the tables.
  std::vector<model::Namespace> coming = {};
  bool preserve_counts = false;                    ///< groups that are there already keep their counts
  bool preserve_resources = false;                 ///< and their tasks what they ask of a node
  std::optional<std::int64_t> eval_priority = {};  ///< of the evaluation alone; absent: the job's
  bool stopped = false;                            ///< it is kept, and nothing of it runs (the wire's Job.Stop)
};

struct Registered {
  std::string eval_id;
  model::Revision job_modify_index = 0;
  std::vector<std::string> warnings;
};

/// A new job, or a new version when the specification differs from the current one; either way an evaluation.
/// A job that belongs to a cluster stays with it. Throws invalid with all problems of the job, conflict when
/// `enforce_index` does not match, and what refuse_by_namespace throws.
Decision<Registered> decide(const Tables&, const RegisterJob&, const Context&);

struct DeregisterJob {
  std::string ns, id;
  bool purge = false;
  bool no_shutdown_delay = false;                  ///< its allocations stop without waiting for `shutdown_delay`
  std::optional<std::int64_t> eval_priority = {};  ///< of the evaluation alone; absent: the job's
};
/// Stops the job; `purge` forgets it at once instead of at garbage collection. A job that is not there has stopped:
/// nothing changes, and there is no evaluation, as with Nomad. Throws invalid for a priority that cannot be.
Decision<Registered> decide(const Tables&, const DeregisterJob&, const Context&);

struct EvaluateJob {
  std::string ns, id;
  /// What has failed and is not replaced yet is replaced now: it waits no longer, and has attempts though its
  /// `reschedule` leaves it none.
  bool force_reschedule = false;
};
/// Looks at the job again though nothing changed. Throws not_found; invalid when the job starts others.
Decision<Registered> decide(const Tables&, const EvaluateJob&, const Context&);

struct ApplyCluster {
  model::Cluster cluster;
  std::vector<RegisterJob> jobs;
  std::vector<NewVariable> secrets;               ///< made if they are still missing
  std::vector<model::Namespace> namespaces = {};  ///< what the directory says of them
};
struct AppliedCluster {
  std::vector<std::string> registered;  ///< new or changed jobs
  std::vector<std::string> stopped;     ///< declared before, and not any more
  model::Revision revision = 0;
};
/// Cluster and jobs together or not at all. Throws invalid with all problems of all of them, among which a job that
/// belongs to another cluster.
Decision<AppliedCluster> decide(const Tables&, const ApplyCluster&, const Context&);
/// Begins to take the cluster down: its jobs are stopped; its hosts follow once they are (hpc/host). Throws not_found.
struct StopCluster {
  std::string name;
};
Decision<Nothing> decide(const Tables&, const StopCluster&, const Context&);

/// A cycle through the dependencies of the `coming` jobs of namespace `ns` in words, "a → b → a"; nothing when there is
/// none. Looks at registered jobs too; coming ones take precedence.
std::optional<std::string> dependency_cycle(const Tables&, const std::vector<const model::Job*>& coming,
                                            const std::string& ns);

/// Running while an allocation is wanted or running, dead once stopped or (batch) finished, else pending.
model::JobStatus job_status(const Tables&, const model::Job&);
/// The fields that a client may set, so that the rest (status, version, indexes) never makes a new version.
bool same_specification(const model::Job&, const model::Job&);

/// The job as its next version will stand, stamped, running or `stopped`; nothing when it equals the current one.
std::optional<model::Job> next_version(const Tables&, model::Job job, const Context&, bool stopped = false);
/// Puts the job, if it differs from the current one, and its evaluation; refuses nothing.
Registered register_into(std::vector<Change>& changes, const Tables&, const RegisterJob&, const Context&);

/// Throws invalid for one that no job may have.
void refuse_priority(std::int64_t priority);

/// With what is kept beside it.
void forget_job(std::vector<Change>& changes, const std::string& ns, const std::string& id);

/// A pending evaluation of `job`.
model::Evaluation new_evaluation(const model::Job& job, model::EvalTrigger trigger, const Context&);

}  // namespace underway::server
