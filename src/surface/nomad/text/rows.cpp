#include "nomad/text/rows.hpp"

#include <algorithm>
#include <tuple>

namespace underway::nomad {

using cli::id_text;
using cli::number;
using cli::text;
using Rows = std::vector<std::vector<std::string>>;

void newest_first(boost::json::array& rows, std::string_view by) {
  std::sort(rows.begin(), rows.end(), [&](const cli::Json& a, const cli::Json& b) {
    const auto place = [&](const cli::Json& row) {
      return std::tuple(number(row, by), number(row, "CreateTime"), text(row, "ID"));
    };
    return place(a) > place(b);
  });
}

std::string allocations_text(boost::json::array allocations, bool verbose) {
  if (allocations.empty()) return "No allocations placed\n";
  newest_first(allocations, "CreateIndex");
  Rows rows;
  for (const auto& allocation : allocations) {
    const auto created = number(allocation, "CreateTime"), modified = number(allocation, "ModifyTime");
    std::vector<std::string> row{id_text(text(allocation, "ID"), verbose)};
    if (verbose) row.push_back(text(allocation, "EvalID"));
    row.push_back(id_text(text(allocation, "NodeID"), verbose));
    if (verbose) row.push_back(text(allocation, "NodeName"));
    // Lists tell it beside the job, whole allocations in it.
    const std::string version = text(allocation, "JobVersion");
    row.insert(row.end(), {text(allocation, "TaskGroup"), version.empty() ? text(allocation, "Job.Version") : version,
                           text(allocation, "DesiredStatus"), text(allocation, "ClientStatus")});
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
  for (const auto& evaluation : evaluations)
    rows.push_back({id_text(text(evaluation, "ID"), verbose), text(evaluation, "Priority"),
                    text(evaluation, "TriggeredBy"), text(evaluation, "Status"), placement_failures(evaluation)});
  return cli::table_text({"ID", "Priority", "Triggered By", "Status", "Placement Failures"}, rows);
}

std::string job_status_text(const cli::Json& job) {
  return text(job, "Status") + (cli::truth(job, "Stop") ? " (stopped)" : "");
}

std::string jobs_text(const boost::json::array& jobs, bool with_namespace) {
  Rows rows;
  for (const auto& job : jobs) {
    std::vector<std::string> row{text(job, "ID")};
    if (with_namespace) row.push_back(text(job, "Namespace"));
    row.insert(row.end(), {text(job, "Type") + (cli::truth(job, "Periodic") ? "/periodic" : "") +
                               (cli::truth(job, "ParameterizedJob") ? "/parameterized" : ""),
                           text(job, "Priority"), job_status_text(job), cli::moment(number(job, "SubmitTime"))});
    rows.push_back(std::move(row));
  }
  return with_namespace ? cli::table_text({"ID", "Namespace", "Type", "Priority", "Status", "Submit Date"}, rows)
                        : cli::table_text({"ID", "Type", "Priority", "Status", "Submit Date"}, rows);
}

std::string node_stubs_text(const boost::json::array& nodes, bool verbose) {
  Rows rows;
  for (const auto& node : nodes)
    rows.push_back({id_text(text(node, "ID"), verbose), text(node, "Datacenter"), text(node, "Name"),
                    text(node, "NodeClass"), cli::truth(node, "Drain") ? "true" : "false",
                    text(node, "SchedulingEligibility"), text(node, "Status")});
  return cli::table_text({"ID", "DC", "Name", "Class", "Drain", "Eligibility", "Status"}, rows);
}

std::string evaluations_text(const boost::json::array& evaluations, bool verbose) {
  Rows rows;
  for (const auto& evaluation : evaluations)
    rows.push_back({id_text(text(evaluation, "ID"), verbose), text(evaluation, "Priority"),
                    text(evaluation, "TriggeredBy"), text(evaluation, "JobID"), text(evaluation, "Namespace"),
                    id_text(text(evaluation, "NodeID"), verbose), text(evaluation, "Status"),
                    placement_failures(evaluation)});
  return cli::table_text(
      {"ID", "Priority", "Triggered By", "Job ID", "Namespace", "Node ID", "Status", "Placement Failures"}, rows);
}

std::string deployments_text(boost::json::array deployments, bool verbose) {
  if (deployments.empty()) return "No deployments found\n";
  newest_first(deployments, "CreateIndex");
  Rows rows;
  for (const auto& deployment : deployments)
    rows.push_back({id_text(text(deployment, "ID"), verbose), text(deployment, "JobID"), text(deployment, "JobVersion"),
                    text(deployment, "Status"), text(deployment, "StatusDescription")});
  return cli::table_text({"ID", "Job ID", "Job Version", "Status", "Description"}, rows);
}

double fraction(const cli::Json& value, std::string_view name) {
  const auto& found = cli::member(value, name);
  return found.is_number() ? found.to_number<double>() : 0.0;
}

}  // namespace underway::nomad
