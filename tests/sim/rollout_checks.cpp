// What must hold of a RolloutHistory at every step.
#include <set>
#include "sim/rollout_history.hpp"

namespace underway::sim {

using model::ClientStatus;
using model::DeploymentStatus;

RolloutHistory::View RolloutHistory::view() const {
  View out;
  for (const auto& row : desk_.tables.allocations_of_job("default", "job")) {
    if (row->is_healthy()) out.well.push_back(row);
  }
  return out;
}

std::int64_t RolloutHistory::desired() const {
  // A version that was lost with the server, or gone back to, may want another number than the last one asked for.
  if (!system_) return job() ? job()->groups[0].count : count_;
  return std::count_if(machines_.begin(), machines_.end(), [&](const Machine& machine) {
    const auto node = desk_.tables.find_node(machine.node.id);
    return node && node->ready();
  });
}

std::int64_t RolloutHistory::healthy(bool without_canaries) const {
  const auto& rows = desk_.tables.allocations_of_job("default", "job");
  return std::count_if(rows.begin(), rows.end(),
                       [&](const auto& row) { return row->is_healthy() && !(without_canaries && row->health.canary); });
}

void RolloutHistory::check(const View& before) {
  const auto deployment = newest();
  if (deployment && std::exchange(last_deployment_, deployment->id) != deployment->id) ++rollouts_;
  check_names();
  check_figures();
  const std::int64_t least = desired() - *update_.max_parallel;
  const auto taken = std::count_if(before.well.begin(), before.well.end(), [&](const auto& row) {
    const auto now = desk_.tables.find_allocation(row->id);
    return now && now->server_terminal() && now->desired_description == "alloc is being updated due to job update";
  });
  if (taken > 0 && healthy() < least)
    wrong(fmt::format("a rollout took {} that were well and left {} of {}", taken, healthy(), desired()));
  if (!calm_) return;
  // A service's canaries come on top of the others and go with their rollout: nobody counts on them.
  const std::int64_t well = healthy(!system_);
  reached_ |= desired() > 0 && well >= desired();
  if (reached_ && well < least) wrong(fmt::format("{} of {} are well", well, desired()));
}

void RolloutHistory::check_names() {
  std::set<std::string> names;
  for (const auto& row : desk_.tables.allocations_of_job("default", "job")) {
    if (row->terminal() || row->health.canary) continue;
    if (!names.insert(row->name + (system_ ? "@" + row->node_id : std::string())).second)
      wrong(fmt::format("two of the name {} live", row->name));
  }
}

/// What is told to start, and did not run, finds what it needs at work.
void RolloutHistory::check_order(const Machine& machine, const protocol::AllocationOrder& order) {
  const auto& row = order.allocation;
  const auto local = machine.locals.find(row.id);
  const bool runs = local != machine.locals.end() && (local->second.start || local->second.over());
  if (!needs_ || row.job_id != "job" || !order.start || runs || row.client_terminal() || row.server_terminal()) return;
  const auto rows = desk_.tables.allocations_of_job("default", "base");
  const bool met = std::any_of(rows.begin(), rows.end(), [&](const auto& base) {
    const bool here = needs_ == model::DependencyScope::any || base->node_id == machine.node.id;
    return here && base->is_ready();
  });
  // What the node began before it was last heard of goes on.
  if (!met && row.client_status == ClientStatus::pending)
    wrong(fmt::format("{} is told to start before what it needs works", row.name));
}

/// A rollout's figures are those of the allocations that it has.
void RolloutHistory::check_figures() {
  const auto deployment = newest();
  if (!deployment || deployment->status != DeploymentStatus::running) return;
  std::int64_t well = 0, canaries = 0;
  for (const auto& row : desk_.tables.allocations_of_job("default", "job")) {
    if (row->deployment_id != deployment->id || row->terminal()) continue;
    if (row->health.healthy.value_or(false)) ++well;
    if (row->health.canary) ++canaries;
  }
  const auto& state = deployment->groups.begin()->second;
  if (state.healthy_allocs != well)
    wrong(fmt::format("the rollout counts {} as well, and there are {}", state.healthy_allocs, well));
  if (canaries > state.desired_canaries) wrong(fmt::format("{} canaries live of {}", canaries, state.desired_canaries));
}

}  // namespace underway::sim
