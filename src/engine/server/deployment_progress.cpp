#include "scheduler/schedule.hpp"
#include "server/deployment_decisions.hpp"
#include "server/detail/rollback.hpp"

namespace underway::server {

using model::Deployment;
using model::DeploymentState;
using model::DeploymentStatus;

namespace {

/// Whether the scheduler can go on: there was room to wait for, or nothing more is to come.
bool goes_on(const DeploymentState& state) {
  return state.placed_allocs < state.desired_total || state.healthy_allocs >= state.desired_total;
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
  if (after.deployment_id.empty()) return;
  const std::int64_t now = unix_nanos(context_.now);
  const bool ended =
      after.client_status == model::ClientStatus::failed || after.client_status == model::ClientStatus::complete;
  if (ended && !after.server_terminal() && after.health.healthy != false) {
    after.health.healthy = false;
    after.health.timestamp = now;
    if (after.health.description.empty()) after.health.description = "it ended by itself";
  }
  if (before.health.healthy == after.health.healthy || !after.health.healthy) return;
  Watched* watched = find(after.deployment_id);
  if (watched == nullptr) return;
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
    const bool running = watched->row.status == DeploymentStatus::running;
    watched->failing |= running && state.progress_deadline == Duration{0};
  }
}

bool DeploymentProgress::healthy(const std::string& allocation_id) const {
  if (const auto it = verdicts_.find(allocation_id); it != verdicts_.end()) return it->second;
  const auto row = tables_.find_allocation(allocation_id);
  return row && row->is_healthy();
}

/// Every group that has canaries wants it, and all of them are there and well.
bool DeploymentProgress::promotes_itself(const Deployment& deployment) const {
  if (!deployment.requires_promotion()) return false;
  return std::all_of(deployment.groups.begin(), deployment.groups.end(), [&](const auto& entry) {
    const DeploymentState& state = entry.second;
    if (state.desired_canaries == 0 || state.promoted) return true;
    const auto& canaries = state.placed_canaries;
    return state.auto_promote && static_cast<std::int64_t>(canaries.size()) >= state.desired_canaries &&
           std::all_of(canaries.begin(), canaries.end(), [&](const auto& id) { return healthy(id); });
  });
}

void DeploymentProgress::conclude(std::vector<Change>& changes) {
  for (auto& [id, entry] : watched_) {
    if (!entry) continue;
    Deployment& row = entry->row;
    row.modify_time = unix_nanos(context_.now);
    if (entry->failing) {
      detail::fail(changes, tables_, std::move(row), detail::kUnhealthy, context_);
      continue;
    }
    const bool promoted = promotes_itself(row);
    if (promoted) detail::promote(changes, tables_, row, {}, context_);
    if (promoted || entry->news) detail::evaluate(changes, tables_, row, context_);
    changes.push_back(tables::PutDeployment{std::move(row)});
  }
}

}  // namespace underway::server
