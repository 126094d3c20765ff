#include "nomad/text/job_plan.hpp"

#include <map>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/current_time.hpp"
#include "cli/job/url.hpp"
#include "cli/terminal.hpp"
#include "jobspec/jobspec.hpp"
#include "nomad/text/group_failure.hpp"
#include "nomad/text/job_diff.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::Api;
using cli::Arguments;
using cli::elements;
using cli::member;
using cli::number;
using cli::print;
using cli::text;

/// Beyond so many the evicted are counted by job, and jobs beyond so many by type.
constexpr std::size_t kFew = 10;

std::string failures_text(const Json& plan, const model::Job& job) {
  std::string out = job.type == model::JobType::system ? "- WARNING: Failed to place allocations on all nodes.\n"
                                                       : "- WARNING: Failed to place all allocations.\n";
  std::string between;
  for (const auto& failure : failures_of(member(plan, "FailedTGAllocs"))) {
    out += between + "  " + failure.title() + "\n" + failure.reasons("    ");
    between = "\n";
  }
  return out;
}

/// "- If submitted now, …" of a job that the clock starts.
std::string next_launch_text(const Json& plan) {
  const auto next = parse_time(text(plan, "NextPeriodicLaunch"));
  if (!next || text(plan, "NextPeriodicLaunch").starts_with("0001-")) return {};
  const auto now = cli::current_time();
  return fmt::format("- If submitted now, next periodic launch would be at {} ({} from now).\n",
                     cli::moment(unix_nanos(*next)),
                     go_duration((unix_nanos(*next) - unix_nanos(now)) / 1'000'000'000));
}

std::string preemptions_text(const boost::json::array& evicted) {
  if (evicted.empty()) return {};
  const std::string title = "Preemptions:\n\n";
  Rows rows;
  if (evicted.size() < kFew) {
    for (const auto& allocation : evicted)
      rows.push_back({text(allocation, "ID"), text(allocation, "JobID"), text(allocation, "TaskGroup")});
    return title + cli::table_text({"Alloc ID", "Job ID", "Task Group"}, rows);
  }
  std::map<std::vector<std::string>, std::size_t> by_job;
  std::map<std::string, std::size_t> by_type;
  for (const auto& allocation : evicted) {
    ++by_job[{text(allocation, "JobID"), text(allocation, "Namespace"), text(allocation, "JobType")}];
    ++by_type[text(allocation, "JobType")];
  }
  if (by_job.size() >= kFew) {
    for (const auto& [type, count] : by_type) rows.push_back({type, std::to_string(count)});
    return title + cli::table_text({"Job Type", "Preemptions"}, rows);
  }
  for (const auto& [job, count] : by_job) {
    auto row = job;
    row.push_back(std::to_string(count));
    rows.push_back(std::move(row));
  }
  return title + cli::table_text({"Job ID", "Namespace", "Job Type", "Preemptions"}, rows);
}

/// The variables again: without them the same file is another job.
std::string submit_text(const Arguments& arguments, const Json& plan) {
  std::string given;
  for (const auto& value : arguments.all("var")) given += "-var=" + go_quote(value) + " ";
  for (const auto& file : arguments.all("var-file")) given += "-var-file=" + go_quote(file) + " ";
  return fmt::format(
      "{}\nTo submit the job with version verification run:\n\nnomad job run -check-index {} {}{}\n\n"
      "With that flag the job is refused when somebody has changed it since this plan.\n",
      cli::paint(cli::Colour::bold, fmt::format("Job Modify Index: {}", number(plan, "JobModifyIndex"))),
      number(plan, "JobModifyIndex"), given, arguments.positional().front());
}

}  // namespace

cli::LoadedJob load_job_of(const Arguments& arguments) {
  const std::string& path = arguments.positional().front();
  if (!arguments.has("json")) return cli::load_job(path, arguments);
  if (!arguments.all("var").empty() || !arguments.all("var-file").empty())
    throw Error(Code::invalid, "Invalid job options: cannot use variables with JSON files.");
  const std::string source = cli::read_job_file(path);
  const Json value = json::parse(source), inner = member(value, "Job");
  cli::LoadedJob loaded{jobspec::job_from_json(inner.is_null() ? value : inner), {}};
  loaded.submission.source = source;
  loaded.submission.format = "json";
  return loaded;
}

int plan_exit_code(const Json& plan) {
  if (text(plan, "Diff.Type") == "None") return 0;
  for (const auto& [group, updates] : cli::members(plan, "Annotations.DesiredTGUpdates")) {
    for (const char* count : {"Stop", "Place", "Migrate", "DestructiveUpdate", "Canary"}) {
      if (number(updates, count) > 0) return 1;
    }
  }
  return 0;
}

std::string dry_run_text(const Json& plan, const model::Job& job) {
  std::string out = cli::paint(cli::Colour::bold, "Scheduler dry-run:") + "\n";
  out += cli::members(plan, "FailedTGAllocs").empty() ? std::string("- All tasks successfully allocated.\n")
                                                      : failures_text(plan, job);
  out += next_launch_text(plan) + "\n";
  if (const auto warnings = text(plan, "Warnings"); !warnings.empty())
    out += cli::paint(cli::Colour::yellow, "Job Warnings:\n" + warnings) + "\n\n";
  return out + preemptions_text(elements(plan, "Annotations.PreemptedAllocs"));
}

int job_plan(const Arguments& arguments) {
  const auto loaded = load_job_of(arguments);
  Api api(arguments);
  api.use_namespace(loaded.job.ns);
  const Json plan = api.put("/v1/job/" + cli::part(loaded.job.id) + "/plan",
                            object{{"Job", json::to_value(loaded.job)}, {"Diff", true}});
  if (arguments.get("diff", "true") != "false") {
    const Json diff = with_unchanged(member(plan, "Diff"), loaded.job);
    print(job_diff_text(diff, arguments.has("verbose"), member(plan, "Annotations.DesiredTGUpdates")) + "\n");
  }
  print(dry_run_text(plan, loaded.job));
  print(submit_text(arguments, plan));
  return plan_exit_code(plan);
}

}  // namespace underway::nomad
