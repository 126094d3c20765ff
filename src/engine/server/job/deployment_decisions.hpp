#pragma once
/// @file
/// Decisions about rollouts: what the health of allocations means for a deployment, deadlines, and what people ask for.
/// What may be replaced next is the scheduler's to say (scheduler/schedule.hpp); it is asked by an evaluation.

#include "server/decision.hpp"

namespace underway::server {

/// Collects what became of allocations that deployments watch, and then moves each deployment once: counts, deadline,
/// automatic promotion, failure, and the way back.
class DeploymentProgress {
 public:
  DeploymentProgress(const Tables& tables, const Context& context) : tables_(tables), context_(context) {}

  /// `after` is the row as it shall be. One that ended by itself is not well, whatever was found before.
  void note(const model::Allocation& before, model::Allocation& after);
  /// `row` runs again: what came to pass while it was paused counts now.
  void resume(model::Deployment row);
  /// Writes the deployments, and evaluations where the scheduler has something to do now. Returns the id of the last of
  /// these; empty when there is none.
  std::string conclude(std::vector<Change>& changes);

 private:
  struct Watched {
    model::Deployment row;
    bool failing = false;
    bool news = false;  ///< the scheduler may have something to do
  };
  Watched* find(const std::string& id);
  void note_return(const model::Allocation& before, const model::Allocation& after);
  bool healthy(const std::string& allocation_id) const;

  const Tables& tables_;
  const Context& context_;
  std::map<std::string, std::optional<Watched>> watched_;
  std::map<std::string, bool> verdicts_;  ///< new ones, by allocation
};

/// Fails deployments that made no progress in time, or that are not well and have found what to go back to only now;
/// and promotes canaries that all turned out well while one of them was still missing. The times are on the clock of
/// `context.now`. The result: the ids of those that were not in time.
struct EnforceDeploymentDeadlines {};
Decision<std::vector<std::string>> decide(const Tables&, const EnforceDeploymentDeadlines&, const Context&);
/// When the first of them is due, ns since the epoch (0: at once); nothing while none is.
std::optional<std::int64_t> next_deployment_deadline(const Tables&);

/// After a time in which no server was there: what nodes found out meanwhile they are yet to tell, and nobody was late.
/// Every rollout that goes on gets its time anew.
struct RenewDeploymentDeadlines {};
Decision<Nothing> decide(const Tables&, const RenewDeploymentDeadlines&, const Context&);

struct DeploymentUpdated {
  std::string eval_id;
  std::optional<std::int64_t> reverted_version;  ///< the version that the job went back to
};
/// All of these throw not_found, and invalid when the deployment is over.

/// The canaries of `groups` (none named: of all) have proven good: the rest follows. Throws invalid while one of them
/// is not healthy.
struct PromoteDeployment {
  std::string id;
  std::vector<std::string> groups = {};
};
Decision<DeploymentUpdated> decide(const Tables&, const PromoteDeployment&, const Context&);
/// Ends it; groups with auto_revert take the job back.
struct FailDeployment {
  std::string id;
};
Decision<DeploymentUpdated> decide(const Tables&, const FailDeployment&, const Context&);
/// Nothing new begins until it is resumed; deadlines then start anew.
struct PauseDeployment {
  std::string id;
  bool pause = true;
};
Decision<DeploymentUpdated> decide(const Tables&, const PauseDeployment&, const Context&);
/// A person's verdict on allocations of the deployment. Throws invalid when one is not of it.
struct HealthVerdicts {
  std::vector<std::string> healthy, unhealthy;
};
struct SetAllocationHealth {
  std::string id;
  HealthVerdicts verdicts;
};
Decision<DeploymentUpdated> decide(const Tables&, const SetAllocationHealth&, const Context&);

struct RevertJob {
  std::string ns, id;
  std::int64_t version = 0;
  std::optional<std::int64_t> enforce_prior_version;  ///< refuse unless this is the current one
};
struct Reverted {
  std::string eval_id;
  model::Revision job_modify_index = 0;
};
/// Registers an earlier version anew, as the newest one. Throws not_found, and invalid when it is the current one.
Decision<Reverted> decide(const Tables&, const RevertJob&, const Context&);
/// Says whether the current version is one to go back to. Throws not_found; unsupported for another version.
struct MarkStable {
  std::string ns, id;
  std::int64_t version = 0;
  bool stable = true;
};
Decision<Nothing> decide(const Tables&, const MarkStable&, const Context&);

/// Deployments that ended at least `keep` ago, but for the newest of each job that is still there. Returns how many.
std::int64_t collect_deployments(std::vector<Change>& changes, const Tables&, Duration keep, const Context&);

}  // namespace underway::server
