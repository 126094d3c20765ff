#include "model/validate/first_cause.hpp"
#include "protocol/task_events.hpp"
#include "server/detail/rollback.hpp"
#include "server/job/deployment_decisions.hpp"

namespace underway::server {

using model::Deployment;
using model::DeploymentState;
using model::DeploymentStatus;

namespace {

/// Whether the scheduler can go on: there was room to wait for, or nothing more is to come.
bool goes_on(const DeploymentState& state) {
  return state.placed_allocs < state.desired_total || state.healthy_allocs >= state.desired_total;
}

/// Whether a task of it can never start where it is, however often that is tried: its command or image is not there.
bool cannot_start(const model::Allocation& row) {
  if (row.client_status != model::ClientStatus::failed) return false;
  return std::any_of(row.task_states.begin(), row.task_states.end(), [](const auto& entry) {
    const auto& events = entry.second.events;
    return std::any_of(events.begin(), events.end(), [](const model::TaskEvent& event) {
      return event.type == protocol::event::kNotRestarting && event.message == model::kUnrecoverable;
    });
  });
}

}  // namespace

DeploymentProgress::Watched* DeploymentProgress::find(const std::string& id) {
  const auto [it, fresh] = watched_.try_emplace(id);
  if (fresh) {
    const auto row = tables_.find<Deployment>(id);
    if (row && row->active()) it->second.emplace().row = *row;
  }
  return it->second ? &*it->second : nullptr;
}

void DeploymentProgress::note(const model::Allocation& before, model::Allocation& after) {
  note_return(before, after);
  if (after.deployment_id.empty()) return;
  const std::int64_t now = unix_nanos(context_.now);
  const bool ended =
      after.client_status == model::ClientStatus::failed || after.client_status == model::ClientStatus::complete;
  if (ended && !after.server_terminal() && after.health.healthy != false) {
    after.health.healthy = false;
    after.health.timestamp = now;
    if (after.health.description.empty()) after.health.description = "it ended by itself";
  }
  // What is to stop was taken out of the figures when that was decided.
  if (after.server_terminal()) return;
  const bool verdict = after.health.healthy && before.health.healthy != after.health.healthy;
  const bool hopeless = !before.client_terminal() && cannot_start(after);
  Watched* watched = verdict || hopeless ? find(after.deployment_id) : nullptr;
  if (watched == nullptr) return;
  watched->failing |= hopeless && watched->row.status == DeploymentStatus::running;
  if (!verdict) return;
  const auto group = watched->row.groups.find(after.group);
  if (group == watched->row.groups.end()) return;
  DeploymentState& state = group->second;
  if (before.health.healthy) --(*before.health.healthy ? state.healthy_allocs : state.unhealthy_allocs);
  verdicts_[after.id] = *after.health.healthy;
  if (*after.health.healthy) {
    ++state.healthy_allocs;
    if (state.progress_deadline > Duration{0})
      state.require_progress_by = std::max(state.require_progress_by, now + state.progress_deadline.count());
    watched->news |= goes_on(state);
  } else {
    ++state.unhealthy_allocs;
    watched->failing |= detail::fails_at_once(tables_, watched->row);
  }
}

/// A rollout takes no more than leaves enough that work: when one of an earlier version works again it may go on.
void DeploymentProgress::note_return(const model::Allocation& before, const model::Allocation& after) {
  const auto works = [](const model::Allocation& row) { return !row.terminal() && row.is_healthy(); };
  const bool unheard = before.client_status == model::ClientStatus::unknown;
  if (!works(after) || (works(before) && !unheard)) return;
  const auto& deployments = tables_.deployments_of_job(after.ns, after.job_id);
  if (deployments.empty() || !deployments.front()->active() || deployments.front()->id == after.deployment_id) return;
  if (Watched* watched = find(deployments.front()->id)) watched->news = true;
}

void DeploymentProgress::resume(Deployment row) {
  const std::string id = row.id;
  const bool failing = detail::fails_at_once(tables_, row);
  watched_[id] = Watched{.row = std::move(row), .failing = failing, .news = true};
}

bool DeploymentProgress::healthy(const std::string& allocation_id) const {
  if (const auto it = verdicts_.find(allocation_id); it != verdicts_.end()) return it->second;
  const auto row = tables_.find_allocation(allocation_id);
  return row && row->is_healthy();
}

std::string DeploymentProgress::conclude(std::vector<Change>& changes) {
  std::string evaluation;
  for (auto& [id, entry] : watched_) {
    if (!entry) continue;
    Deployment& row = entry->row;
    row.modify_time = unix_nanos(context_.now);
    if (entry->failing) {
      evaluation = detail::fail(changes, tables_, std::move(row), detail::kUnhealthy, context_).eval_id;
      continue;
    }
    const bool promoted = detail::promotes_itself(row, [this](const auto& canary) { return healthy(canary); });
    if (promoted) detail::promote(changes, tables_, row, {}, context_);
    if (promoted || entry->news) evaluation = detail::evaluate(changes, tables_, row, context_);
    changes.push_back(tables::PutDeployment{std::move(row)});
  }
  return evaluation;
}

}  // namespace underway::server
