#pragma once
/// @file
/// The rollout of a job while one plan is made: which deployment holds, what it lets each group do, and how its row
/// shall stand when the plan is done.
///
/// A deployment's figures are those of the allocations that it has now, counted anew with every plan: what was lost and
/// replaced counts once. Between two plans the server only moves healthy and unhealthy by what nodes report.

#include "scheduler/plan.hpp"
#include "scheduler/reconcile/reconcile.hpp"

namespace underway::scheduler {

// Nomad's words (structs.DeploymentStatusDescription*): clients and people match on them.
inline constexpr const char* kRunning = "Deployment is running";
inline constexpr const char* kNeedsPromotion = "Deployment is running but requires manual promotion";
inline constexpr const char* kPromotesItself = "Deployment is running pending automatic promotion";
inline constexpr const char* kSuccessful = "Deployment completed successfully";
inline constexpr const char* kCancelledByStop = "Cancelled because job is stopped";
inline constexpr const char* kCancelledByNewer = "Cancelled due to newer version of job";

/// What of a group a plan leaves or makes, as its deployment counts it.
struct Tally {
  std::int64_t placed = 0;  ///< of the deployment: kept, updated in place or new
  std::int64_t healthy = 0;
  std::int64_t unhealthy = 0;
  std::int64_t outstanding = 0;       ///< still to be changed or placed
  std::vector<std::string> canaries;  ///< not promoted
};

/// Puts those of which `first` holds before the others, each in the order that they were in. Returns how many they are.
template <class First>
std::ptrdiff_t put_first(std::vector<AllocationRow>& rows, First first) {
  std::vector<AllocationRow> others;
  std::size_t count = 0;
  for (auto& row : rows) {
    if (first(*row))
      rows[count++] = std::move(row);
    else
      others.push_back(std::move(row));
  }
  std::move(others.begin(), others.end(), rows.begin() + static_cast<std::ptrdiff_t>(count));
  return static_cast<std::ptrdiff_t>(count);
}

/// Whether it does its work: a node that is not heard of vouches for nothing.
bool works(const model::Allocation& allocation);

class Rollout {
 public:
  Rollout(const Situation& situation, const Context& context);

  /// The deployment of this version of the job, unless it was successful; null: none.
  const model::Deployment* current() const { return current_ ? &*current_ : nullptr; }
  bool running() const { return current_ && current_->status == model::DeploymentStatus::running; }
  bool failed() const { return current_ && current_->status == model::DeploymentStatus::failed; }
  /// What the group is watched by; null: by nothing.
  const model::DeploymentState* state(const std::string& group) const;
  /// Whether nothing new may begin in the group: what is lost comes back as it was, and that is all.
  bool held(const std::string& group) const;
  /// Whether canaries of the group wait to be judged.
  bool canarying(const std::string& group) const;
  /// The same, and more of them may be placed.
  bool canarying_now(const std::string& group) const;
  bool owns(const model::Allocation& allocation) const { return current_ && allocation.deployment_id == current_->id; }
  /// A canary that is still one, of this deployment.
  bool owns_canary(const model::Allocation& allocation) const {
    return allocation.health.canary && owns(allocation) && !failed();
  }
  /// Whether a rollout that failed, and that this version now takes the place of, left it behind without working: there
  /// is nothing to lose, so that it is replaced at once.
  bool left_behind(const model::Allocation& allocation) const {
    return !failed_before_.empty() && allocation.deployment_id == failed_before_ && !works(allocation);
  }
  /// The version that a group falls back to while it is held; null: there is none. Asked for once.
  const tables::Row<model::Job>& stable();

  /// Watches the group from now on; begins the deployment if it is the first. Nothing while it is failed.
  void open(const model::TaskGroup& group, const model::UpdatePolicy& policy, std::int64_t canaries);
  /// How the group stands after the plan.
  void settle(const std::string& group, Tally tally);
  /// Ends a deployment that is still going on: its job is stopped or gone.
  void cancel();
  /// Writes the rows into the plan.
  void conclude(Plan& plan);

 private:
  void close(const model::Deployment& deployment, const char* why);
  void name_latest(model::Evaluation& evaluation) const;
  bool complete() const;

  const Situation& situation_;
  const Context& context_;
  std::int64_t now_;
  std::optional<model::Deployment> current_;
  std::optional<model::Deployment> closed_;
  std::string failed_before_;  ///< the deployment of another version that was the newest until now, and had failed
  std::map<std::string, std::int64_t> outstanding_;  ///< by group that was settled
  bool asked_for_stable_ = false;
  tables::Row<model::Job> stable_;
};

/// How many of `outdated` may be replaced now, those first that do not work: as many as `max_parallel` leaves beside
/// what is on its way (`in_flight`), and of those that work only as many as leave all but max_parallel of `desired`
/// working. Reorders `outdated`; the chosen ones are its beginning.
std::size_t choose_outdated(std::vector<AllocationRow>& outdated, std::int64_t max_parallel, std::int64_t in_flight,
                            std::int64_t working, std::int64_t desired);

}  // namespace underway::scheduler
