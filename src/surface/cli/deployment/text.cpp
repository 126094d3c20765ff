#include "cli/deployment/text.hpp"

#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {

namespace {

std::string yes_no(bool value) { return value ? "true" : "false"; }

/// Columns that say the same for every group, or nothing, are left out, as Nomad does.
std::string groups_text(const model::Deployment& deployment) {
  const auto any = [&](auto holds) {
    return std::any_of(deployment.groups.begin(), deployment.groups.end(),
                       [&](const auto& entry) { return holds(entry.second); });
  };
  const bool reverts = any([](const auto& state) { return state.auto_revert; });
  const bool canaries = any([](const auto& state) { return state.desired_canaries > 0; });
  std::vector<std::string> headers{"Task Group"};
  if (reverts) headers.emplace_back("Auto Revert");
  if (canaries) headers.insert(headers.end(), {"Promoted", "Desired", "Canaries"});
  if (!canaries) headers.emplace_back("Desired");
  headers.insert(headers.end(), {"Placed", "Healthy", "Unhealthy", "Progress Deadline"});
  Table table(headers);
  for (const auto& [name, state] : deployment.groups) {
    std::vector<std::string> row{name};
    if (reverts) row.push_back(yes_no(state.auto_revert));
    if (canaries) row.push_back(state.desired_canaries > 0 ? yes_no(state.promoted) : "N/A");
    row.push_back(std::to_string(state.desired_total));
    if (canaries) row.push_back(std::to_string(state.desired_canaries));
    row.push_back(std::to_string(state.placed_allocs));
    row.push_back(std::to_string(state.healthy_allocs));
    row.push_back(std::to_string(state.unhealthy_allocs));
    row.push_back(state.require_progress_by == 0 ? "N/A" : format_time(from_unix_nanos(state.require_progress_by)));
    table.add(std::move(row));
  }
  return table.text(0);
}

}  // namespace

std::string deployment_text(const model::Deployment& deployment) {
  return key_values({{"ID", short_id(deployment.id)},
                     {"Job ID", deployment.job_id},
                     {"Job Version", std::to_string(deployment.job_version)},
                     {"Status", std::string(describe::spell(deployment.status))},
                     {"Description", deployment.status_description}}) +
         "\nDeployed\n" + groups_text(deployment);
}

namespace {

std::string group_line(const std::string& name, const model::DeploymentState& state, bool active) {
  std::string line =
      fmt::format("      {} {} {} of {} healthy, {} placed", name, bar(state.healthy_allocs, state.desired_total),
                  state.healthy_allocs, state.desired_total, state.placed_allocs);
  if (state.unhealthy_allocs > 0) line += fmt::format(", {} unhealthy", state.unhealthy_allocs);
  if (state.desired_canaries > 0 && !state.promoted) {
    line += fmt::format(", {} of {} canaries placed", state.placed_canaries.size(), state.desired_canaries);
    if (active) line += state.auto_promote ? ", promoted when healthy" : ", to be promoted";
  }
  if (active && state.require_progress_by > 0)
    line += ", by " + format_time(from_unix_nanos(state.require_progress_by)).substr(11);
  return line;
}

}  // namespace

std::vector<std::string> deployment_lines(const model::Deployment& deployment) {
  std::vector<std::string> lines{fmt::format("    Deployment {} of {} version {}: {}: {}", short_id(deployment.id),
                                             deployment.job_id, deployment.job_version,
                                             describe::spell(deployment.status), deployment.status_description)};
  for (const auto& [name, state] : deployment.groups) lines.push_back(group_line(name, state, deployment.active()));
  return lines;
}

bool waits_for_person(const model::Deployment& deployment) {
  if (deployment.status == model::DeploymentStatus::paused) return true;
  return deployment.active() && std::any_of(deployment.groups.begin(), deployment.groups.end(), [](const auto& entry) {
           const auto& state = entry.second;
           return state.desired_canaries > 0 && !state.promoted && !state.auto_promote &&
                  state.healthy_allocs >= state.desired_canaries;
         });
}

std::string advice_for(const model::Deployment& deployment) {
  const std::string id = short_id(deployment.id);
  if (deployment.status == model::DeploymentStatus::paused) return "It goes on with: underway deployment resume " + id;
  if (!waits_for_person(deployment)) return {};
  return fmt::format("Look at the canaries, then: underway deployment promote {0} (or: underway deployment fail {0})",
                     id);
}

}  // namespace underway::cli
