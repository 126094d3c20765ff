#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/alloc/failing_tasks.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/deployment/text.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "model/job/cron.hpp"

namespace underway::cli {
namespace {

/// In Nomad's words: "batch/periodic".
std::string type_of(const wire::JobStub& job) {
  return std::string(describe::spell(job.type)) + (job.periodic ? "/periodic" : "") +
         (job.parameterized ? "/parameterized" : "");
}

std::string next_start(const model::Job& job) {
  if (!job.periodic->enabled || job.stop || (job.parameterized && !job.dispatched)) return "none";
  const auto next = model::next_time(job.periodic->expressions(), job.periodic->time_zone, current_time());
  return next ? format_time(*next) : "none";
}

/// Of a job that starts others: what it started, and no allocations.
int print_parent(sdk::Client& client, const model::Job& job) {
  const auto children = client.job_summary(job.id).children;
  print("\nChildren Job Summary\n");
  Table summary({"Pending", "Running", "Dead"});
  summary.add({std::to_string(children.pending), std::to_string(children.running), std::to_string(children.dead)});
  summary.print();
  std::vector<wire::JobStub> started = client.jobs(job.id + "/");
  std::erase_if(started, [&](const auto& child) { return child.parent_id != job.id; });
  print(job.periodic ? "\nPreviously Launched Jobs\n" : "\nDispatched Jobs\n");
  if (started.empty()) {
    print("No instances of the job found\n");
    return kDone;
  }
  Table table({"ID", "Status", "Submit Date"});
  for (const auto& child : started)
    table.add({child.id, std::string(describe::spell(child.status)), format_time(from_unix_nanos(child.submit_time))});
  table.print();
  return kDone;
}

int list_jobs(sdk::Client& client, const Arguments& arguments) {
  const auto page = client.jobs(list_query(arguments));
  const auto& jobs = page.rows;
  tell_next_page(page.next_token);
  if (print_formatted(arguments, json::to_value(jobs))) return kDone;
  if (jobs.empty()) {
    print("No running jobs\n");
    return kDone;
  }
  Table table({"ID", "Type", "Priority", "Status", "Submit Date"});
  for (const auto& job : jobs) {
    const std::string status = std::string(describe::spell(job.status)) + (job.stop ? " (stopped)" : "");
    table.add(
        {job.id, type_of(job), std::to_string(job.priority), status, format_time(from_unix_nanos(job.submit_time))});
  }
  table.print();
  return kDone;
}

void print_summary(const wire::JobSummary& summary) {
  print("\nSummary\n");
  Table table({"Task Group", "Queued", "Starting", "Running", "Failed", "Complete", "Lost", "Unknown"});
  for (const auto& [group, s] : summary.groups) {
    table.add({group, std::to_string(s.queued), std::to_string(s.starting), std::to_string(s.running),
               std::to_string(s.failed), std::to_string(s.complete), std::to_string(s.lost),
               std::to_string(s.unknown)});
  }
  table.print();
}

void print_allocations(const std::vector<wire::AllocationStub>& allocations) {
  print("\nAllocations\n");
  if (allocations.empty()) {
    print("No allocations placed\n");
    return;
  }
  Table table({"ID", "Node", "Task Group", "Version", "Desired", "Status", "Healthy", "Created", "Waits for"});
  for (const auto& a : allocations) {
    const std::string healthy = a.health.healthy ? (*a.health.healthy ? "yes" : "no") : "";
    table.add({short_id(a.id), a.node_name, a.group, std::to_string(a.job_version),
               std::string(describe::spell(a.desired_status)), std::string(describe::spell(a.client_status)), healthy,
               ago(a.create_time), a.waiting_for});
  }
  table.print();
}

int show_job(sdk::Client& client, const std::string& id, const Arguments& arguments) {
  const auto job = client.job(id);
  if (print_formatted(arguments, json::to_value(job))) return kDone;
  std::string status(describe::spell(job.status));
  if (job.stop) status += " (stopped)";
  std::vector<std::string> after;
  for (const auto& dependency : job.depends_on)
    after.push_back(dependency.job + (dependency.scope == model::DependencyScope::node ? " on the node" : ""));
  std::vector<std::pair<std::string, std::string>> facts{{"ID", job.id},
                                                         {"Name", job.name},
                                                         {"Submit Date", format_time(from_unix_nanos(job.submit_time))},
                                                         {"Type", std::string(describe::spell(job.type))},
                                                         {"Priority", std::to_string(job.priority)},
                                                         {"Datacenters", join(job.datacenters, ",")},
                                                         {"Namespace", job.ns},
                                                         {"Node Pool", job.node_pool},
                                                         {"Status", status},
                                                         {"Version", std::to_string(job.version)},
                                                         {"Depends On", after.empty() ? "<none>" : join(after, ", ")}};
  if (!job.parent_id.empty()) facts.emplace_back("Parent", job.parent_id);
  if (job.starts_others()) {
    facts.emplace_back("Periodic", job.periodic ? "true" : "false");
    facts.emplace_back("Parameterized", job.parameterized ? "true" : "false");
  }
  if (job.periodic) facts.emplace_back("Next Periodic Launch", next_start(job));
  print(key_values(facts));
  if (job.starts_others()) return print_parent(client, job);
  print_summary(client.job_summary(id));
  for (const auto& evaluation : client.job_evaluations(id)) {
    if (evaluation.status != model::EvalStatus::blocked) continue;
    print("\nPlacement Failure\n" + failures_text(evaluation.failed_groups));
  }
  if (const auto deployments = client.job_deployments(id); !deployments.empty())
    print("\nLatest Deployment\n" + deployment_text(deployments.front()));
  auto allocations = client.job_allocations(id);
  print_allocations(allocations);
  for (auto& allocation : allocations) allocation.waiting_for.clear();  // the table has said it
  if (const auto lines = FailingTasks(client).lines(allocations); !lines.empty())
    print("\nIn Trouble\n" + join(lines, "\n") + "\n");
  return kDone;
}

int run_job_status(const Arguments& arguments) {
  auto client = make_client(arguments);
  return arguments.positional().empty()
             ? list_jobs(client, arguments)
             : show_job(client, resolve_job(client, arguments.positional().front()), arguments);
}

int run_allocs(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto allocations = client.job_allocations(resolve_job(client, arguments.positional().front()));
  if (!print_formatted(arguments, json::to_value(allocations))) print_allocations(allocations);
  return kDone;
}

}  // namespace

const Command& job_status_command() {
  static const Command command{.name = "job status",
                               .arguments = "[ID]",
                               .summary = "Lists jobs, or shows one with its allocations.",
                               .examples = {"underway job status -filter 'Meta.team == \"hpc\" and Status == running'"},
                               .flags = with_list_flags(),
                               .least = 0,
                               .most = 1,
                               .run = run_job_status};
  return command;
}

const Command& job_allocs_command() {
  static const Command command{.name = "job allocs",
                               .arguments = "ID",
                               .summary = "Lists a job's allocations.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = run_allocs};
  return command;
}

}  // namespace underway::cli
