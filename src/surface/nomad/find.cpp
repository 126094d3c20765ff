#include "nomad/find.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::nomad {

using cli::Api;
using cli::elements;
using cli::Json;
using cli::text;

namespace {

struct Kind {
  const char* path;
  const char* none;  ///< {} is the prefix
  const char* several;
  std::vector<std::string> headers;
  std::vector<const char*> columns;
};

[[noreturn]] void refuse_several(const Kind& kind, const std::vector<Json>& found) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : found) {
    std::vector<std::string> row;
    for (const char* column : kind.columns) row.push_back(text(one, column));
    rows.push_back(std::move(row));
  }
  throw Error(Code::conflict, fmt::format("{}\n\n{}", kind.several, trim(cli::table_text(kind.headers, rows))));
}

std::string find(Api& api, const Kind& kind, const std::string& prefix) {
  std::vector<Json> found;
  for (const auto& one : elements(api.get(kind.path, {{"prefix", prefix}}))) {
    found.push_back(one);
    if (text(one, "ID") == prefix) {
      found = {one};
      break;
    }
  }
  if (found.empty()) throw Error(Code::not_found, fmt::format(fmt::runtime(kind.none), prefix));
  if (found.size() > 1) refuse_several(kind, found);
  const std::string ns = text(found.front(), "Namespace");
  if (!ns.empty() && api.client().address().ns == "*") api.use_namespace(ns);
  return text(found.front(), "ID");
}

}  // namespace

std::string find_job(Api& api, const std::string& prefix) {
  static const Kind kind{"/v1/jobs",
                         "No job(s) with prefix or ID \"{}\" found",
                         "Prefix matched multiple jobs",
                         {"ID", "Namespace", "Type", "Priority", "Status"},
                         {"ID", "Namespace", "Type", "Priority", "Status"}};
  return find(api, kind, prefix);
}

std::string find_allocation(Api& api, const std::string& prefix) {
  static const Kind kind{"/v1/allocations",
                         "No allocation(s) with prefix or id \"{}\" found",
                         "Prefix matched multiple allocations",
                         {"ID", "Node ID", "Task Group", "Version", "Desired", "Status"},
                         {"ID", "NodeID", "TaskGroup", "JobVersion", "DesiredStatus", "ClientStatus"}};
  return find(api, kind, prefix);
}

std::string find_node(Api& api, const std::string& prefix) {
  static const Kind kind{"/v1/nodes",
                         "No node(s) with prefix \"{}\" found",
                         "Prefix matched multiple nodes",
                         {"ID", "DC", "Name", "Class", "Drain", "Eligibility", "Status"},
                         {"ID", "Datacenter", "Name", "NodeClass", "Drain", "SchedulingEligibility", "Status"}};
  return find(api, kind, prefix);
}

std::string find_evaluation(Api& api, const std::string& prefix) {
  static const Kind kind{"/v1/evaluations",
                         "No evaluation(s) with prefix or id \"{}\" found",
                         "Prefix matched multiple evaluations",
                         {"ID", "Priority", "Triggered By", "Status"},
                         {"ID", "Priority", "TriggeredBy", "Status"}};
  return find(api, kind, prefix);
}

std::string find_deployment(Api& api, const std::string& prefix) {
  static const Kind kind{"/v1/deployments",
                         "Deployment ID \"{}\" matched no deployments",
                         "Prefix matched multiple deployments",
                         {"ID", "Job ID", "Job Version", "Status", "Description"},
                         {"ID", "JobID", "JobVersion", "Status", "StatusDescription"}};
  return find(api, kind, prefix);
}

namespace {

std::string allocation_of_job(Api& api, const std::string& job, const std::string& group) {
  std::string found;
  for (const auto& one : elements(api.get("/v1/job/" + cli::part(job) + "/allocations"))) {
    if (!group.empty() && text(one, "TaskGroup") != group) continue;
    if (text(one, "ClientStatus") == "running") return text(one, "ID");
    if (found.empty()) found = text(one, "ID");
  }
  if (!found.empty()) return found;
  throw Error(Code::not_found, fmt::format("No allocations for job \"{}\"{} found", job,
                                           group.empty() ? "" : fmt::format(", group \"{}\",", group)));
}

}  // namespace

Chosen chosen_allocation(Api& api, const cli::Arguments& arguments) {
  std::vector<std::string> words = arguments.positional();
  // A switch with the job as the first argument; `-job=ID` says the same.
  std::string job = arguments.has("job") ? arguments.get("job") : std::string();
  const bool of_job = !job.empty();
  std::string named = of_job && job != "true" ? job : std::string();
  if (named.empty()) {
    if (words.empty()) throw Error(Code::invalid, "This command takes an allocation ID, or a job ID with -job");
    named = words.front();
    words.erase(words.begin());
  }
  if (!of_job) return {find_allocation(api, named), std::move(words)};
  return {allocation_of_job(api, find_job(api, named), arguments.get("group")), std::move(words)};
}

std::string chosen_task(Api& api, const std::string& allocation, const std::string& given) {
  if (!given.empty()) return given;
  const Json value = api.get("/v1/allocation/" + cli::part(allocation));
  std::vector<std::string> names;
  for (const auto& group : elements(value, "Job.TaskGroups")) {
    if (text(group, "Name") != text(value, "TaskGroup")) continue;
    for (const auto& task : elements(group, "Tasks")) names.push_back(text(task, "Name"));
  }
  if (names.size() == 1) return names.front();
  throw Error(Code::invalid, fmt::format("Allocation \"{}\" is running the following tasks:\n  * {}",
                                         allocation.substr(0, 8), join(names, "\n  * ")))
      .advise("name one of them");
}

}  // namespace underway::nomad
