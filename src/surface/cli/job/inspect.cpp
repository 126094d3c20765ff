#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/job/follow_evaluation.hpp"
#include "cli/job/version.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "jobspec/jobspec.hpp"
#include "jobspec/template_warnings.hpp"
#include "model/job/spelled_policies.hpp"

namespace underway::cli {
namespace {

model::Job version_of(sdk::Client& client, const std::string& id, std::int64_t number) {
  for (auto& version : client.job_versions(id)) {
    if (version.version == number) return std::move(version);
  }
  throw Error(Code::not_found, fmt::format("job '{}' has no version {}", id, number))
      .advise(fmt::format("`underway job history {}` lists those that are kept", id));
}

int inspect_job(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_job(client, arguments.positional().front());
  const auto wanted = arguments.find("version");
  const auto job = wanted ? version_of(client, id, resolve_version(client, id, *wanted)) : client.job(id);
  if (arguments.has("hcl"))
    print(jobspec::write_job(model::without_policies(job)));
  else
    print_json(boost::json::object{{"Job", json::to_value(job)}});
  return kDone;
}

int history(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_job(client, arguments.positional().front());
  const auto versions = client.job_versions(id);
  const auto only = arguments.find("version");
  const auto number = only ? std::optional(resolve_version(client, id, *only)) : std::nullopt;
  const auto diff = arguments.find("diff-tag") ? arguments.find("diff-tag") : arguments.find("diff-version");
  const auto fixed = diff ? std::optional(version_of(client, id, resolve_version(client, id, *diff))) : std::nullopt;
  if (print_formatted(arguments, json::to_value(versions))) return kDone;
  for (std::size_t i = 0; i < versions.size(); ++i) {
    const auto& job = versions[i];
    if (number && job.version != *number) continue;
    std::vector<std::pair<std::string, std::string>> facts{
        {"Version", std::to_string(job.version)},
        {"Stable", job.stable ? "true" : "false"},
        {"Submit Date", format_time(from_unix_nanos(job.submit_time))}};
    if (job.version_tag) {
      facts.emplace_back("Tag Name", job.version_tag->name);
      if (!job.version_tag->description.empty()) facts.emplace_back("Tag Description", job.version_tag->description);
    }
    print(key_values(facts));
    const model::Job* before = fixed ? &*fixed : i + 1 < versions.size() ? &versions[i + 1] : nullptr;
    const bool asked = arguments.has("p") || fixed;
    if (asked && before != nullptr && before->version != job.version) print(diff_text(model::diff(before, &job)));
    print("\n");
  }
  return kDone;
}

int validate_job(const Arguments& arguments) {
  const auto loaded = load_job(arguments.positional().front(), arguments);
  print(job_warnings_text(jobspec::warnings_text(jobspec::texts_of(jobspec::template_warnings(loaded.job)))));
  print("Job validation successful\n");
  return kDone;
}

int evaluate(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto evaluated =
      client.evaluate_job(resolve_job(client, arguments.positional().front()), arguments.has("force-reschedule"));
  if (!arguments.has("detach")) return follow_evaluation(client, evaluated.eval_id, std::chrono::minutes(1));
  print(fmt::format("Created eval ID: \"{}\"\n", short_id(evaluated.eval_id)));
  return kDone;
}

}  // namespace

const Command& job_inspect_command() {
  static const Command command{.name = "job inspect",
                               .arguments = "ID",
                               .summary = "Prints a job as JSON, or as a job file.",
                               .flags = {{"version", "VERSION|TAG", "This version."}, {"hcl", "", "As a job file."}},
                               .least = 1,
                               .most = 1,
                               .run = inspect_job};
  return command;
}

const Command& job_history_command() {
  static const Command command{.name = "job history",
                               .arguments = "ID",
                               .summary = "Lists the versions of a job, newest first.",
                               .flags = {{"p", "", "What each version changed."},
                                         {"version", "VERSION|TAG", "This version only."},
                                         {"diff-version", "VERSION", "Compares each with this version."},
                                         {"diff-tag", "TAG", "Compares each with the version that has this tag."},
                                         {"json", "", "As JSON."},
                                         kTemplate},
                               .least = 1,
                               .most = 1,
                               .run = history};
  return command;
}

const Command& job_validate_command() {
  static const Command command{.name = "job validate",
                               .arguments = "FILE",
                               .summary = "Checks a job file and tells all that is wrong with it.",
                               .flags = with_variable_flags({}),
                               .least = 1,
                               .most = 1,
                               .talks_to_server = false,
                               .run = validate_job};
  return command;
}

const Command& job_eval_command() {
  static const Command command{.name = "job eval",
                               .arguments = "ID",
                               .summary = "Has the scheduler look at a job again.",
                               .flags = {{"force-reschedule", "",
                                          "What has failed is replaced now: without its delay, and when it has no "
                                          "attempts left."},
                                         {"detach", "", "Returns at once."}},
                               .least = 1,
                               .most = 1,
                               .run = evaluate};
  return command;
}

}  // namespace underway::cli
