#include "scheduler/reconcile/rollout.hpp"

namespace underway::scheduler {

using model::Deployment;
using model::DeploymentState;
using model::DeploymentStatus;

bool works(const model::Allocation& allocation) {
  return allocation.is_healthy() && allocation.client_status != model::ClientStatus::unknown;
}

Rollout::Rollout(const Situation& situation, const Context& context)
    : situation_(situation), context_(context), now_(unix_nanos(context.now)) {
  if (!situation.deployment || !situation.job) return;
  const Deployment& newest = *situation.deployment;
  const bool of_this_version =
      newest.job_version == situation.job->version && newest.job_create_index == situation.job->create_index;
  if (!of_this_version) {
    if (newest.active()) close(newest, kCancelledByNewer);
    if (newest.status == DeploymentStatus::failed) failed_before_ = newest.id;
  } else if (newest.active() || newest.status == DeploymentStatus::failed) {
    current_ = newest;
  }
}

void Rollout::close(const Deployment& deployment, const char* why) {
  closed_ = deployment;
  closed_->status = DeploymentStatus::cancelled;
  closed_->status_description = why;
  closed_->modify_time = now_;
}

void Rollout::cancel() {
  current_.reset();
  if (situation_.deployment && situation_.deployment->active()) close(*situation_.deployment, kCancelledByStop);
}

const DeploymentState* Rollout::state(const std::string& group) const {
  if (!current_) return nullptr;
  const auto it = current_->groups.find(group);
  return it == current_->groups.end() ? nullptr : &it->second;
}

bool Rollout::canarying(const std::string& group) const {
  const DeploymentState* of_group = state(group);
  return of_group != nullptr && of_group->desired_canaries > 0 && !of_group->promoted;
}

bool Rollout::canarying_now(const std::string& group) const { return running() && canarying(group); }

bool Rollout::held(const std::string& group) const { return current_ && (!running() || canarying(group)); }

const tables::Row<model::Job>& Rollout::stable() {
  if (!std::exchange(asked_for_stable_, true) && situation_.stable) stable_ = situation_.stable();
  return stable_;
}

void Rollout::open(const model::TaskGroup& group, const model::UpdatePolicy& policy, std::int64_t canaries) {
  if (failed()) return;
  if (!current_) {
    const model::Job& job = *situation_.job;
    Deployment& made = current_.emplace();
    made.id = context_.ids.uuid();
    made.ns = job.ns;
    made.job_id = job.id;
    made.job_version = job.version;
    made.job_modify_index = job.modify_index;
    made.job_spec_modify_index = job.job_modify_index;
    made.job_create_index = job.create_index;
    made.eval_priority = job.priority;
    made.status_description = kRunning;
    made.create_time = now_;
  }
  DeploymentState& state = current_->groups[group.name];
  state.auto_revert = policy.auto_revert;
  state.auto_promote = policy.auto_promote;
  state.progress_deadline = policy.progress_deadline;
  state.desired_canaries = canaries;
}

void Rollout::settle(const std::string& group, Tally tally) {
  if (!current_ || !current_->active()) return;
  const auto it = current_->groups.find(group);
  if (it == current_->groups.end()) return;
  DeploymentState& state = it->second;
  if (tally.placed > 0 && state.require_progress_by == 0 && state.progress_deadline > Duration{0})
    state.require_progress_by = now_ + state.progress_deadline.count();
  const auto canaries = static_cast<std::int64_t>(tally.canaries.size());
  state.placed_allocs = tally.placed;
  state.healthy_allocs = tally.healthy;
  state.unhealthy_allocs = tally.unhealthy;
  const bool beside = situation_.job->type == model::JobType::service;  // its canaries come on top of the count
  state.desired_total = tally.placed + tally.outstanding - (beside ? canaries : 0);
  // On nodes that have no other version left there is nothing to try more canaries on.
  if (!beside && tally.outstanding == 0 && !state.promoted)
    state.desired_canaries = std::min(state.desired_canaries, canaries);
  state.placed_canaries = std::move(tally.canaries);
  outstanding_[group] = tally.outstanding;
}

bool Rollout::complete() const {
  if (!running()) return false;
  return std::all_of(current_->groups.begin(), current_->groups.end(), [&](const auto& entry) {
    const auto& [name, state] = entry;
    // A group that the job no longer has holds nobody up; one that was not looked at is not known to be done.
    if (situation_.job->find_group(name) == nullptr) return true;
    const auto left = outstanding_.find(name);
    return left != outstanding_.end() && left->second == 0 && !canarying(name) &&
           state.healthy_allocs >= state.placed_allocs;
  });
}

/// As Nomad's scheduler names it: who registers what runs already, evaluates a job or stops it asks the evaluation for
/// a deployment to follow, and would wait for one that never comes. One that an earlier version left without success
/// says nothing of a version that needs none (Nomad names it, and its client then reports a failure).
void Rollout::name_latest(model::Evaluation& evaluation) const {
  const auto& latest = situation_.deployment;
  if (!latest || evaluation.type == model::JobType::batch || evaluation.type == model::JobType::sysbatch) return;
  if (const auto& job = situation_.job; job && !job->stop) {
    if (job->create_index != latest->job_create_index) return;  // the job was purged since, and is another
    if (job->version != latest->job_version && latest->status != DeploymentStatus::successful) return;
  }
  evaluation.deployment_id = latest->id;
}

void Rollout::conclude(Plan& plan) {
  if (closed_) plan.deployments.push_back(std::move(*closed_));
  if (!current_) return name_latest(plan.evaluation);
  plan.evaluation.deployment_id = current_->id;
  const bool known = situation_.deployment && situation_.deployment->id == current_->id;
  if (complete()) {
    current_->status = DeploymentStatus::successful;
    current_->status_description = kSuccessful;
    // What ran nowhere has proven nothing.
    plan.stable = std::any_of(current_->groups.begin(), current_->groups.end(),
                              [](const auto& entry) { return entry.second.placed_allocs > 0; });
  } else if (current_->requires_promotion()) {
    const auto waits_for_person = [](const auto& entry) {
      return entry.second.desired_canaries > 0 && !entry.second.promoted && !entry.second.auto_promote;
    };
    const bool person = std::any_of(current_->groups.begin(), current_->groups.end(), waits_for_person);
    current_->status_description = person ? kNeedsPromotion : kPromotesItself;
  }
  if (known && describe::equal(*situation_.deployment, *current_)) return;
  current_->modify_time = now_;
  plan.deployments.push_back(*current_);
}

std::size_t choose_outdated(std::vector<AllocationRow>& outdated, std::int64_t max_parallel, std::int64_t in_flight,
                            std::int64_t working, std::int64_t desired) {
  const std::int64_t idle = put_first(outdated, [](const model::Allocation& row) { return !works(row); });
  const std::int64_t room = std::max<std::int64_t>(0, max_parallel - in_flight);
  if (room <= idle) return static_cast<std::size_t>(room);
  const std::int64_t spare = std::max<std::int64_t>(0, working - (desired - max_parallel));
  const std::int64_t chosen = idle + std::min<std::int64_t>(room - idle, spare);
  return static_cast<std::size_t>(std::min<std::int64_t>(chosen, static_cast<std::int64_t>(outdated.size())));
}

}  // namespace underway::scheduler
