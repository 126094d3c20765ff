#include "nomad/rows.hpp"

#include <algorithm>

namespace underway::nomad {

using cli::id_text;
using cli::number;
using cli::text;
using Rows = std::vector<std::vector<std::string>>;

void newest_first(boost::json::array& rows, std::string_view by) {
  std::sort(rows.begin(), rows.end(), [&](const cli::Json& a, const cli::Json& b) {
    return std::pair(number(a, by), text(a, "ID")) > std::pair(number(b, by), text(b, "ID"));
  });
}

std::string allocations_text(boost::json::array allocations, bool verbose) {
  if (allocations.empty()) return "No allocations placed\n";
  newest_first(allocations, "CreateIndex");
  Rows rows;
  for (const auto& one : allocations) {
    const auto created = number(one, "CreateTime"), modified = number(one, "ModifyTime");
    std::vector<std::string> row{id_text(text(one, "ID"), verbose)};
    if (verbose) row.push_back(text(one, "EvalID"));
    row.push_back(id_text(text(one, "NodeID"), verbose));
    if (verbose) row.push_back(text(one, "NodeName"));
    // Lists tell it beside the job, whole allocations in it.
    const std::string version = text(one, "JobVersion");
    row.insert(row.end(), {text(one, "TaskGroup"), version.empty() ? text(one, "Job.Version") : version,
                           text(one, "DesiredStatus"), text(one, "ClientStatus")});
    row.push_back(verbose ? cli::moment(created) : cli::since(created));
    row.push_back(verbose ? cli::moment(modified) : cli::since(modified));
    rows.push_back(std::move(row));
  }
  if (verbose)
    return cli::table_text(
        {"ID", "Eval ID", "Node ID", "Node Name", "Task Group", "Version", "Desired", "Status", "Created", "Modified"},
        rows);
  return cli::table_text({"ID", "Node ID", "Task Group", "Version", "Desired", "Status", "Created", "Modified"}, rows);
}

std::string placement_failures(const cli::Json& evaluation) {
  const std::string status = text(evaluation, "Status");
  if (status == "blocked") return "N/A - In Progress";
  return cli::members(evaluation, "FailedTGAllocs").empty() ? "false" : "true";
}

std::string job_evaluations_text(boost::json::array evaluations, bool verbose) {
  newest_first(evaluations, "CreateIndex");
  Rows rows;
  for (const auto& one : evaluations)
    rows.push_back({id_text(text(one, "ID"), verbose), text(one, "Priority"), text(one, "TriggeredBy"),
                    text(one, "Status"), placement_failures(one)});
  return cli::table_text({"ID", "Priority", "Triggered By", "Status", "Placement Failures"}, rows);
}

std::string deployments_text(boost::json::array deployments, bool verbose) {
  if (deployments.empty()) return "No deployments found\n";
  newest_first(deployments, "CreateIndex");
  Rows rows;
  for (const auto& one : deployments)
    rows.push_back({id_text(text(one, "ID"), verbose), text(one, "JobID"), text(one, "JobVersion"), text(one, "Status"),
                    text(one, "StatusDescription")});
  return cli::table_text({"ID", "Job ID", "Job Version", "Status", "Description"}, rows);
}

}  // namespace underway::nomad
