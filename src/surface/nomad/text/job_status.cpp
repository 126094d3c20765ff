#include "nomad/text/job_status.hpp"

#include <map>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "model/job/cron.hpp"
#include "model/job/job.hpp"
#include "nomad/find.hpp"
#include "nomad/text/deployment_text.hpp"
#include "nomad/text/group_failure.hpp"
#include "nomad/text/rows.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using cli::Api;
using cli::Arguments;
using cli::elements;
using cli::id_text;
using cli::members;
using cli::number;
using cli::print;
using cli::text;
using cli::truth;

int list_jobs(Api& api, const Arguments& arguments) {
  const Json jobs = api.get("/v1/jobs", cli::list_query_of(arguments));
  if (cli::print_formatted(arguments, jobs)) return 0;
  if (elements(jobs).empty()) {
    print("No running jobs\n");
    return 0;
  }
  print(jobs_text(elements(jobs), api.client().address().ns == "*"));
  cli::tell_next_page(api, arguments, "nomad job status");
  return 0;
}

std::string next_launch(const Json& job) {
  const auto described = json::decode<model::Job>(job, "Job");
  if (described.stop) return "none (job stopped)";
  const auto& periodic = *described.periodic;
  const auto now = cli::current_time();
  const auto next = periodic.enabled ? model::next_time(periodic.expressions(), periodic.time_zone, now) : std::nullopt;
  if (!next) return "none";
  return fmt::format("{} ({} from now)", cli::moment(unix_nanos(*next)),
                     go_duration((unix_nanos(*next) - unix_nanos(now)) / 1'000'000'000));
}

std::string job_facts(const Json& job) {
  std::vector<std::string> datacenters;
  for (const auto& datacenter : elements(job, "Datacenters"))
    datacenters.emplace_back(std::string_view(datacenter.as_string()));
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
                   {"Status", job_status_text(job)},
                   {"Periodic", spell(periodic)},
                   {"Parameterized", spell(parameterized)}};
  if (const auto token = text(job, "DispatchIdempotencyToken"); !token.empty())
    lines.emplace_back("Idempotency Token", token);
  if (periodic && !parameterized) lines.emplace_back("Next Periodic Launch", next_launch(job));
  return cli::facts_text(lines);
}

std::string children_text(const Json& summary) {
  return cli::table_text(
      {"Pending", "Running", "Dead"},
      {{text(summary, "Children.Pending"), text(summary, "Children.Running"), text(summary, "Children.Dead")}});
}

/// Those that the job started, by what stands between its name and theirs.
void print_started(Api& api, const Json& job, const char* between, const char* title, const char* none) {
  const std::string id = text(job, "ID");
  const auto found = elements(api.get("/v1/jobs", {{"prefix", id + between}}));
  if (found.empty()) return print(fmt::format("\n{}\n", none));
  Rows rows;
  for (const auto& child : found) {
    if (text(child, "ParentID") == id) rows.push_back({text(child, "ID"), text(child, "Status")});
  }
  print(fmt::format("\n{}\n{}", title, cli::table_text({"ID", "Status"}, rows)));
}

std::string names(const boost::json::array& list_jobs) {
  std::vector<std::string> out;
  for (const auto& datacenter : list_jobs) out.emplace_back(std::string_view(datacenter.as_string()));
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
    return print_started(api, job, "/dispatch-", "Dispatched Jobs",
                         "No dispatched instances of parameterized job found");
  }
  print("\nChildren Job Summary\n" + children_text(summary));
  print_started(api, job, "/periodic-", "Previously Launched Jobs", "No instances of periodic job found");
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

/// "unlimited with exponential delay, max_delay = 1h0m0s", as that client says it.
std::string reschedule_text(const Json& job, const std::string& name) {
  for (const auto& group : elements(job, "TaskGroups")) {
    if (text(group, "Name") != name) continue;
    const Json& policy = cli::member(group, "ReschedulePolicy");
    const auto span = [&](const char* member) { return go_duration(number(policy, member) / 1'000'000'000); };
    if (truth(policy, "Unlimited"))
      return fmt::format("unlimited with {} delay, max_delay = {}", text(policy, "DelayFunction"), span("MaxDelay"));
    return fmt::format("{} in {} with {} delay, max_delay = {}", number(policy, "Attempts"), span("Interval"),
                       text(policy, "DelayFunction"), span("MaxDelay"));
  }
  return {};
}

/// The newest allocation of each group.
std::map<std::string, Json> newest_of(const boost::json::array& allocations) {
  std::map<std::string, Json> newest;
  for (const auto& allocation : allocations) {
    auto& known = newest[text(allocation, "TaskGroup")];
    if (known.is_null() || number(allocation, "ModifyTime") > number(known, "ModifyTime")) known = allocation;
  }
  return newest;
}

/// When what failed is placed anew, by group. One that is over has been forgotten, or is due.
void print_reschedules(Api& api, const Json& job, const boost::json::array& allocations, bool verbose) {
  Rows rows;
  const auto now = unix_nanos(cli::current_time());
  for (const auto& [group, allocation] : newest_of(allocations)) {
    const std::string eval = text(allocation, "FollowupEvalID");
    if (eval.empty()) continue;
    const auto due = wait_of(api, eval);
    if (!due || *due < now) continue;
    rows.push_back({group, id_text(eval, verbose), cli::since(*due)});
    if (verbose) rows.back().insert(rows.back().begin() + 1, reschedule_text(job, group));
  }
  if (rows.empty()) return;
  print("\nFuture Rescheduling Attempts\n" +
        (verbose ? cli::table_text({"Task Group", "Reschedule Policy", "Eval ID", "Eval Time"}, rows)
                 : cli::table_text({"Task Group", "Eval ID", "Eval Time"}, rows)));
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

}  // namespace

std::string placement_failure_text(const boost::json::array& evaluations) {
  constexpr std::size_t kMost = 5;
  bool waits = false;
  const Json* latest = nullptr;
  for (const auto& evaluation : evaluations) {
    waits = waits || text(evaluation, "Status") == "blocked";
    if (members(evaluation, "FailedTGAllocs").empty()) continue;
    if (latest == nullptr || number(evaluation, "CreateIndex") > number(*latest, "CreateIndex")) latest = &evaluation;
  }
  if (!waits || latest == nullptr) return {};
  std::string out = "\nPlacement Failure\n", between;
  const auto failures = failures_of(cli::member(*latest, "FailedTGAllocs"));
  for (std::size_t i = 0; i < failures.size() && i < kMost; ++i) {
    out += between + fmt::format("Task Group \"{}\":\n", failures[i].group) + failures[i].reasons("  ");
    between = "\n";
  }
  if (failures.size() > kMost)
    out += fmt::format("\nPlacement failures truncated. To see remainder run:\nnomad eval-status {}\n",
                       text(*latest, "ID"));
  return out;
}

std::optional<std::int64_t> wait_of(Api& api, const std::string& evaluation) {
  try {
    const auto due = parse_time(text(api.get("/v1/evaluation/" + cli::part(evaluation)), "WaitUntil"));
    return due && unix_nanos(*due) > 0 ? std::optional(unix_nanos(*due)) : std::nullopt;
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;  // it has been looked at, and forgotten since
    return std::nullopt;
  }
}

namespace {

void print_details(Api& api, const Json& job, const Arguments& arguments) {
  const std::string path = "/v1/job/" + cli::part(text(job, "ID"));
  const bool verbose = arguments.has("verbose");
  const Json evaluations = api.get(path + "/evaluations"), summary = api.get(path + "/summary");
  http::Query query;
  if (arguments.has("all-allocs")) query.add("all", "true");
  const auto allocations = elements(api.get(path + "/allocations", query));
  print("\nSummary\n" + summary_text(summary));
  if (number(summary, "Children.Pending") + number(summary, "Children.Running") + number(summary, "Children.Dead") > 0)
    print("\nChildren Job Summary\n" + children_text(summary));
  if (arguments.has("evals") || verbose)
    print("\nEvaluations\n" + job_evaluations_text(elements(evaluations), verbose));
  print(placement_failure_text(elements(evaluations)));
  print_reschedules(api, job, allocations, verbose);
  if (const Json deployment = api.get(path + "/deployment"); !text(deployment, "ID").empty())
    print("\nLatest Deployment\n" + latest_deployment_text(deployment, verbose));
  print_actions(job);
  print("\nAllocations\n" + allocations_text(allocations, verbose));
}

int one(Api& api, const Arguments& arguments) {
  const Json job = api.get("/v1/job/" + cli::part(find_job(api, arguments.positional().front())));
  if (cli::print_formatted(arguments, job)) return 0;
  print(job_facts(job));
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
  return arguments.positional().empty() ? list_jobs(api, arguments) : one(api, arguments);
}

}  // namespace underway::nomad
