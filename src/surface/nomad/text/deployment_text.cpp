#include "nomad/text/deployment_text.hpp"

#include <algorithm>

#include "cli/terminal.hpp"

namespace underway::nomad {

using cli::id_text;
using cli::members;
using cli::number;
using cli::text;
using cli::truth;

namespace {

std::string truth_text(bool value) { return value ? "true" : "false"; }

std::string groups_text(const Json& deployment) {
  const auto& groups = members(deployment, "TaskGroups");
  const auto any = [&](const char* name) {
    return std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
      return truth(group.value(), name) || number(group.value(), name) > 0;
    });
  };
  const bool reverts = any("AutoRevert"), canaries = any("DesiredCanaries"), limited = any("ProgressDeadline");
  std::vector<std::string> headers{"Task Group"};
  if (reverts) headers.emplace_back("Auto Revert");
  if (canaries) headers.emplace_back("Promoted");
  headers.emplace_back("Desired");
  if (canaries) headers.emplace_back("Canaries");
  headers.insert(headers.end(), {"Placed", "Healthy", "Unhealthy"});
  if (limited) headers.emplace_back("Progress Deadline");
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, group] : groups) {
    std::vector<std::string> row{std::string(name)};
    if (reverts) row.push_back(truth_text(truth(group, "AutoRevert")));
    if (canaries) row.push_back(number(group, "DesiredCanaries") > 0 ? truth_text(truth(group, "Promoted")) : "N/A");
    row.push_back(text(group, "DesiredTotal"));
    if (canaries) row.push_back(text(group, "DesiredCanaries"));
    for (const char* count : {"PlacedAllocs", "HealthyAllocs", "UnhealthyAllocs"}) row.push_back(text(group, count));
    const auto deadline = cli::moment_of(cli::member(group, "RequireProgressBy"));
    if (limited) row.push_back(deadline.empty() ? "N/A" : deadline);
    rows.push_back(std::move(row));
  }
  return cli::table_text(headers, rows);
}

std::string with_groups(const std::string& head, const Json& deployment) {
  if (members(deployment, "TaskGroups").empty()) return head;
  return head + "\nDeployed\n" + groups_text(deployment);
}

}  // namespace

std::string deployment_text(const Json& deployment, bool verbose) {
  if (deployment.is_null()) return "No deployment found\n";
  return with_groups(cli::facts_text({{"ID", id_text(text(deployment, "ID"), verbose)},
                                      {"Job ID", text(deployment, "JobID")},
                                      {"Job Version", text(deployment, "JobVersion")},
                                      {"Status", text(deployment, "Status")},
                                      {"Description", text(deployment, "StatusDescription")}}),
                     deployment);
}

std::string latest_deployment_text(const Json& deployment, bool verbose) {
  return with_groups(cli::facts_text({{"ID", id_text(text(deployment, "ID"), verbose)},
                                      {"Status", text(deployment, "Status")},
                                      {"Description", text(deployment, "StatusDescription")}}),
                     deployment);
}

}  // namespace underway::nomad
