#include "nomad/job_status.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/terminal.hpp"
#include "model/cron.hpp"
#include "model/job.hpp"
#include "nomad/find.hpp"
#include "nomad/monitor.hpp"
#include "nomad/rows.hpp"

namespace underway::nomad {
namespace {

using cli::Arguments;
using cli::elements;
using cli::members;
using cli::number;
using cli::print;
using cli::text;
using cli::truth;
using Rows = std::vector<std::vector<std::string>>;

std::string spell(bool value) { return value ? "true" : "false"; }
std::string status_of(const Json& job) { return text(job, "Status") + (truth(job, "Stop") ? " (stopped)" : ""); }

/// "batch/periodic", of the list's rows.
std::string type_of(const Json& job) {
  return text(job, "Type") + (truth(job, "Periodic") ? "/periodic" : "") +
         (truth(job, "ParameterizedJob") ? "/parameterized" : "");
}

int list(Api& api, const Arguments& arguments) {
  const Json jobs = api.get("/v1/jobs", cli::list_query_of(arguments));
  if (cli::print_formatted(arguments, jobs)) return 0;
  if (elements(jobs).empty()) {
    print("No running jobs\n");
    return 0;
  }
  const bool everywhere = api.client().address().ns == "*";
  Rows rows;
  for (const auto& job : elements(jobs)) {
    std::vector<std::string> row{text(job, "ID")};
    if (everywhere) row.push_back(text(job, "Namespace"));
    row.insert(row.end(),
               {type_of(job), text(job, "Priority"), status_of(job), cli::moment(number(job, "SubmitTime"))});
    rows.push_back(std::move(row));
  }
  print(everywhere ? cli::table_text({"ID", "Namespace", "Type", "Priority", "Status", "Submit Date"}, rows)
                   : cli::table_text({"ID", "Type", "Priority", "Status", "Submit Date"}, rows));
  cli::tell_next_page(api, arguments, "nomad job status");
  return 0;
}

std::string next_launch(const Json& job) {
  const auto described = json::decode<model::Job>(job, "Job");
  if (!described.periodic->enabled || described.stop) return "none";
  const auto& periodic = *described.periodic;
  const auto next = model::next_time(periodic.expressions(), periodic.time_zone, SystemClock().now());
  if (!next) return "none";
  return fmt::format("{} ({})", cli::moment(unix_nanos(*next)), cli::since(unix_nanos(*next)));
}

std::string facts(const Json& job) {
  std::vector<std::string> datacenters;
  for (const auto& one : elements(job, "Datacenters")) datacenters.emplace_back(std::string_view(one.as_string()));
  const bool periodic = !cli::member(job, "Periodic").is_null(),
             parameterized = !cli::member(job, "ParameterizedJob").is_null() && !truth(job, "Dispatched");
  cli::Lines lines{{"ID", text(job, "ID")},
                   {"Name", text(job, "Name")},
                   {"Submit Date", cli::moment(number(job, "SubmitTime"))},
                   {"Type", text(job, "Type")},
                   {"Priority", text(job, "Priority")},
                   {"Datacenters", join(datacenters, ",")},
                   {"Namespace", text(job, "Namespace")},
                   {"Node Pool", text(job, "NodePool")},
                   {"Status", status_of(job)},
                   {"Periodic", spell(periodic)},
                   {"Parameterized", spell(parameterized)}};
  if (periodic && !parameterized) lines.emplace_back("Next Periodic Launch", next_launch(job));
  return cli::facts_text(lines);
}

std::string children_text(const Json& summary) {
  return cli::table_text(
      {"Pending", "Running", "Dead"},
      {{text(summary, "Children.Pending"), text(summary, "Children.Running"), text(summary, "Children.Dead")}});
}

void print_started(Api& api, const Json& job, const char* title) {
  const std::string id = text(job, "ID");
  Rows rows;
  for (const auto& child : elements(api.get("/v1/jobs", {{"prefix", id + "/"}}))) {
    if (text(child, "ParentID") == id)
      rows.push_back({text(child, "ID"), status_of(child), cli::moment(number(child, "SubmitTime"))});
  }
  print(fmt::format(
      "\n{}\n{}", title,
      rows.empty() ? "No instances of the job found\n" : cli::table_text({"ID", "Status", "Submit Date"}, rows)));
}

std::string names(const boost::json::array& list) {
  std::vector<std::string> out;
  for (const auto& one : list) out.emplace_back(std::string_view(one.as_string()));
  return join(out, ", ");
}

/// Of a job that starts others; it has no allocations of its own.
void print_parent(Api& api, const Json& job) {
  const Json summary = api.get("/v1/job/" + cli::part(text(job, "ID")) + "/summary");
  if (const Json& how = cli::member(job, "ParameterizedJob"); !how.is_null()) {
    print("\nParameterized Job\n" + cli::facts_text({{"Payload", text(how, "Payload")},
                                                     {"Required Metadata", names(elements(how, "MetaRequired"))},
                                                     {"Optional Metadata", names(elements(how, "MetaOptional"))}}));
    print("\nParameterized Job Summary\n" + children_text(summary));
    return print_started(api, job, "Dispatched Jobs");
  }
  print("\nChildren Job Summary\n" + children_text(summary));
  print_started(api, job, "Previously Launched Jobs");
}

std::string summary_text(const Json& summary) {
  Rows rows;
  for (const auto& [group, counts] : members(summary, "Summary")) {
    std::vector<std::string> row{std::string(group)};
    for (const char* name : {"Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"})
      row.push_back(text(counts, name));
    rows.push_back(std::move(row));
  }
  return cli::table_text({"Task Group", "Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"},
                         rows);
}

/// When failed allocations of the job are placed anew.
std::string reschedules_text(const boost::json::array& evaluations) {
  Rows rows;
  for (const auto& one : evaluations) {
    const auto when = cli::moment_of(cli::member(one, "WaitUntil"));
    if (text(one, "Status") == "pending" && !when.empty()) rows.push_back({text(one, "JobID"), text(one, "ID"), when});
  }
  if (rows.empty()) return {};
  for (auto& row : rows) row.erase(row.begin());
  return "\nFuture Rescheduling Attempts\n" + cli::table_text({"Eval ID", "Eval Time"}, rows);
}

void print_actions(const Json& job) {
  Rows rows;
  for (const auto& group : elements(job, "TaskGroups")) {
    for (const auto& task : elements(group, "Tasks")) {
      for (const auto& action : elements(task, "Actions"))
        rows.push_back({text(action, "Name"), text(group, "Name"), text(task, "Name")});
    }
  }
  if (!rows.empty()) print("\nActions\n" + cli::table_text({"Action Name", "Task Group", "Task"}, rows));
}

/// What the newest evaluation could not place.
void print_failures(boost::json::array evaluations) {
  newest_first(evaluations, "CreateIndex");
  for (const auto& one : evaluations) {
    if (members(one, "FailedTGAllocs").empty()) continue;
    if (text(one, "Status") == "blocked") print("\nPlacement Failure\n" + failures_text(one));
    return;
  }
}

/// The job is known where its latest deployment is shown.
std::string without_job(const std::string& text) {
  std::string out;
  for (const auto& line : split(text, '\n')) {
    if (!line.starts_with("Job ID ") && !line.starts_with("Job Version ")) out += line + "\n";
  }
  out.pop_back();
  return out;
}

void print_details(Api& api, const Json& job, const Arguments& arguments) {
  const std::string path = "/v1/job/" + cli::part(text(job, "ID"));
  const bool verbose = arguments.has("verbose");
  const Json evaluations = api.get(path + "/evaluations");
  print("\nSummary\n" + summary_text(api.get(path + "/summary")));
  if (arguments.has("evals") || verbose)
    print("\nEvaluations\n" + job_evaluations_text(elements(evaluations), verbose));
  print(reschedules_text(elements(evaluations)));
  print_failures(elements(evaluations));
  if (const Json deployment = api.get(path + "/deployment"); !text(deployment, "ID").empty()) {
    print("\nLatest Deployment\n" + without_job(deployment_text(deployment, verbose)));
  }
  print_actions(job);
  http::Query query;
  if (arguments.has("all-allocs")) query.add("all", "true");
  print("\nAllocations\n" + allocations_text(elements(api.get(path + "/allocations", query)), verbose));
}

int one(Api& api, const Arguments& arguments) {
  const Json job = api.get("/v1/job/" + cli::part(find_job(api, arguments.positional().front())));
  if (cli::print_formatted(arguments, job)) return 0;
  print(facts(job));
  if (arguments.has("short")) return 0;
  const bool starts_others = !cli::member(job, "Periodic").is_null() ||
                             (!cli::member(job, "ParameterizedJob").is_null() && !truth(job, "Dispatched"));
  if (starts_others)
    print_parent(api, job);
  else
    print_details(api, job, arguments);
  return 0;
}

}  // namespace

int job_status(const Arguments& arguments) {
  Api api(arguments);
  return arguments.positional().empty() ? list(api, arguments) : one(api, arguments);
}

}  // namespace underway::nomad
