// What shows jobs: status, allocs, deployments, history, inspect, validate, scaling-events, init, action.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/job/version.hpp"
#include "cli/terminal.hpp"
#include "model/diff/diff.hpp"
#include "nomad/find.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/deployment_text.hpp"
#include "nomad/text/job_diff.hpp"
#include "nomad/text/job_plan.hpp"
#include "nomad/text/job_status.hpp"
#include "nomad/text/rows.hpp"
#include "os/file.hpp"

namespace underway::nomad {
namespace {

using boost::json::array;
using boost::json::object;
using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::print_formatted;
using cli::text;

int allocs(const Arguments& arguments) {
  Api api(arguments);
  http::Query query;
  if (arguments.has("all")) query.add("all", "true");
  const Json value = api.get(job_path(find_job(api, arguments.positional().front()), "/allocations"), query);
  if (!print_formatted(arguments, value)) print(allocations_text(elements(value), arguments.has("verbose")));
  return 0;
}

int deployments(const Arguments& arguments) {
  Api api(arguments);
  const bool latest = arguments.has("latest"), verbose = arguments.has("verbose");
  const std::string id = find_job(api, arguments.positional().front());
  http::Query query;
  if (arguments.has("all") && !latest) query.add("all", "true");
  const Json value = api.get(job_path(id, latest ? "/deployment" : "/deployments"), std::move(query));
  if (print_formatted(arguments, value)) return 0;
  print(latest ? deployment_text(value, verbose) : deployments_text(elements(value), verbose));
  return 0;
}

Json version_of(const Json& versions, std::int64_t number) {
  for (const auto& version : elements(versions)) {
    if (cli::number(version, "Version") == number) return version;
  }
  throw Error(Code::not_found, fmt::format("Job has no version {}", number));
}

std::string difference(const Json& before, const Json& after, bool verbose) {
  const auto decode = [](const Json& value) { return json::decode<model::Job>(value, "Versions"); };
  const auto old = decode(before), now = decode(after);
  return job_diff_text(json::to_value(model::diff(&old, &now)), verbose);
}

/// A version, and what it changed of `before` if that is there.
std::string job_version_text(const Json& job, const Json* before, const Arguments& arguments) {
  cli::Lines lines{{"Version", text(job, "Version")},
                   {"Stable", text(job, "Stable")},
                   {"Submit Date", cli::moment(cli::number(job, "SubmitTime"))}};
  if (const auto name = text(job, "VersionTag.Name"); !name.empty()) {
    lines.emplace_back("Tag Name", name);
    if (const auto why = text(job, "VersionTag.Description"); !why.empty()) lines.emplace_back("Tag Description", why);
  }
  std::string more;
  if (before != nullptr) more += "Diff        = \n" + difference(*before, job, arguments.has("full")) + "\n";
  if (arguments.has("full")) more += "Full        = JSON Job:\n" + json::pretty(job) + "\n";
  return cli::facts_text(lines) + more;
}

/// Which versions are shown, each with the one that it is compared with.
using Compared = std::vector<std::pair<const Json*, const Json*>>;

Compared compared(const boost::json::array& all, const std::optional<std::int64_t>& only, const Json* against,
                  bool with_former) {
  Compared out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (only && cli::number(all[i], "Version") != *only) continue;
    const Json* before = against != nullptr ? against : with_former && i + 1 < all.size() ? &all[i + 1] : nullptr;
    if (before != nullptr && cli::number(*before, "Version") == cli::number(all[i], "Version")) before = nullptr;
    out.emplace_back(&all[i], before);
  }
  return out;
}

int history(const Arguments& arguments) {
  if ((arguments.has("json") || arguments.find("t")) && (arguments.has("p") || arguments.has("full")))
    throw Error(Code::invalid, "-json and -t are exclusive with -p and -full");
  Api api(arguments);
  const std::string id = find_job(api, arguments.positional().front());
  const Json versions = cli::member(api.get(job_path(id, "/versions")), "Versions");
  const auto wanted = [&](const char* flag) -> std::optional<std::int64_t> {
    const auto given = arguments.find(flag);
    return given ? std::optional(cli::resolve_version(api.client(), id, *given)) : std::nullopt;
  };
  const auto only = wanted("version");
  const auto against = arguments.find("diff-tag") ? wanted("diff-tag") : wanted("diff-version");
  const Json shown = only ? version_of(versions, *only) : versions;
  if (print_formatted(arguments, shown)) return 0;
  const Json fixed = against ? version_of(versions, *against) : Json();
  std::string between;
  for (const auto& [job, before] : compared(elements(versions), only, against ? &fixed : nullptr, arguments.has("p"))) {
    print(between + job_version_text(*job, before, arguments));
    between = "\n";
  }
  return 0;
}

/// What was handed in, word for word, and with -with-vars its variables.
int print_source(Api& api, const std::string& id, const std::string& version, bool with_variables) {
  const Json submission = api.get(job_path(id, "/submission"), {{"version", version}});
  if (with_variables) {
    for (const auto& [name, value] : cli::members(submission, "VariableFlags"))
      print(fmt::format("-var {}={}\n", std::string_view(name),
                        value.is_string() ? std::string_view(value.get_string()) : std::string_view()));
    if (const auto file = text(submission, "Variables"); !file.empty()) print(file + "\n");
  }
  print(text(submission, "Source"));
  return 0;
}

int inspect(const Arguments& arguments) {
  if (arguments.has("with-vars") && !arguments.has("hcl"))
    throw Error(Code::invalid, "-with-vars can only be used with -hcl");
  if (arguments.has("hcl") && arguments.has("json"))
    throw Error(Code::invalid, "-hcl and -json cannot be used together");
  Api api(arguments);
  if (arguments.positional().empty()) {
    if (!print_formatted(arguments, api.get("/v1/jobs")))
      throw Error(Code::invalid, "This command takes a job ID, or -json or -t for all jobs");
    return 0;
  }
  const std::string id = find_job(api, arguments.positional().front());
  Json job = api.get(job_path(id));
  if (const auto wanted = arguments.find("version"))
    job = version_of(cli::member(api.get(job_path(id, "/versions")), "Versions"),
                     cli::resolve_version(api.client(), id, *wanted));
  if (arguments.has("hcl")) return print_source(api, id, text(job, "Version"), arguments.has("with-vars"));
  if (!print_formatted(arguments, arguments.find("t") ? job : Json(object{{"Job", job}})))
    cli::print_json(object{{"Job", job}});
  return 0;
}

/// What the server has against the job; without a server that which is known here.
int validate(const Arguments& arguments) {
  const auto loaded = load_job_of(arguments);
  Json answer;
  try {
    Api api(arguments);
    api.use_namespace(loaded.job.ns);
    answer = api.put("/v1/validate/job", object{{"Job", json::to_value(loaded.job)}});
  } catch (const Error& error) {
    if (error.code() != Code::unavailable) throw;
    print("Driver configuration not validated since connection to Nomad agent couldn't be established.\n");
  }
  if (const auto& problems = elements(answer, "ValidationErrors"); !problems.empty()) {
    std::string all;
    for (const auto& problem : problems) all += fmt::format("\n  * {}", std::string_view(problem.as_string()));
    throw Error(Code::invalid, fmt::format("Job validation errors:{}", all));
  }
  if (const auto warnings = text(answer, "Warnings"); !warnings.empty())
    print(cli::paint(cli::Colour::yellow, "Job Warnings:\n" + warnings) + "\n\n");
  print(cli::paint(cli::Colour::bold, "Job validation successful") + "\n");
  return 0;
}

int scaling_events(const Arguments& arguments) {
  Api api(arguments);
  const Json value = api.get(job_path(find_job(api, arguments.positional().front()), "/scale"));
  const bool verbose = arguments.has("verbose");
  array events;
  for (const auto& [group, status] : cli::members(value, "TaskGroups")) {
    for (auto event : elements(status, "Events")) {
      event.as_object()["Group"] = group;
      events.push_back(std::move(event));
    }
  }
  newest_first(events, "Time");
  std::vector<std::vector<std::string>> rows;
  for (const auto& event : events) {
    std::vector<std::string> row{text(event, "Group"), text(event, "Count"), text(event, "PreviousCount")};
    if (verbose) row.insert(row.end(), {text(event, "Error"), text(event, "Message"), text(event, "EvalID")});
    row.push_back(cli::moment(cli::number(event, "Time")));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) {
    print("No events found\n");
    return 0;
  }
  print(verbose ? cli::table_text({"Task Group", "Count", "PrevCount", "Error", "Message", "Eval ID", "Date"}, rows)
                : cli::table_text({"Task Group", "Count", "PrevCount", "Date"}, rows));
  return 0;
}

/// -template and -list-templates: variables below nomad/job-templates.
constexpr std::string_view kTemplates = "nomad/job-templates/";

int list_templates(Api& api) {
  std::string out;
  for (const auto& row : elements(api.get("/v1/vars", {{"prefix", std::string(kTemplates)}})))
    out += text(row, "Path").substr(kTemplates.size()) + "\n";
  if (out.empty()) throw Error(Code::not_found, "No variables in nomad/job-templates");
  print("Use nomad job init -template=<template> with any of the following:\n" + out);
  return 0;
}

int init(const Arguments& arguments) {
  if (arguments.has("list-templates")) {
    Api api(arguments);
    return list_templates(api);
  }
  const auto name = arguments.find("template");
  if (!name) return cli::job_init_command().run(arguments);
  Api api(arguments);
  const Json found = api.get("/v1/var/" + std::string(kTemplates) + cli::part(*name));
  const std::string source = text(found, "Items.template");
  if (source.empty())
    throw Error(Code::not_found, fmt::format("variable '{}{}' has no item 'template'", kTemplates, *name));
  const std::string file = arguments.positional().empty() ? "example.nomad.hcl" : arguments.positional().front();
  if (os::exists(file)) throw Error(Code::conflict, fmt::format("Job '{}' already exists", file));
  os::write_file(file, source);
  print(fmt::format("Initializing a job template from {}\nExample job file written to {}\n", *name, file));
  return 0;
}

}  // namespace

void add_job_commands(Table& table) {
  table.push_back({.name = "job status",
                   .arguments = "[<job>]",
                   .summary = "Lists jobs, or shows one with its allocations.",
                   .flags = cli::with_list_flags({{"short", "", "Without allocations."},
                                                  {"evals", "", "The job's evaluations too."},
                                                  {"all-allocs", "", "Allocations of former jobs of that name too."},
                                                  kVerbose,
                                                  kUi}),
                   .most = 1,
                   .run = job_status});
  table.push_back({.name = "job allocs",
                   .arguments = "<job>",
                   .summary = "Lists a job's allocations.",
                   .flags = cli::with_format_flags({{"all", "", "Those of former jobs of that name too."}, kVerbose}),
                   .least = 1,
                   .most = 1,
                   .run = allocs});
  table.push_back(
      {.name = "job deployments",
       .arguments = "<job>",
       .summary = "Lists a job's deployments, newest first.",
       .flags = cli::with_format_flags(
           {{"latest", "", "The newest alone."}, {"all", "", "Those of former jobs of that name too."}, kVerbose}),
       .least = 1,
       .most = 1,
       .run = deployments});
  table.push_back(
      with_run(shared(cli::job_history_command(), {{"full", "", "Each version whole, as JSON."}}), history));
  table.push_back(with_run(
      shared(cli::job_inspect_command(), cli::with_format_flags({{"with-vars", "", "With -hcl: its variables too."}})),
      inspect));
  table.back().least = 0;
  table.push_back(with_run(
      shared(cli::job_validate_command(), {{"json", "", "The file is JSON."}, kHcl1, kVaultNamespace, kVaultToken}),
      validate));
  table.back().talks_to_server = true;
  table.push_back(with_run(shared(cli::job_scaling_events_command(), {kVerbose}), scaling_events));
  table.push_back(
      with_run(shared(cli::job_init_command(), {{"connect", "", "Refused: there is no Consul mesh here."},
                                                {"template", "NAME", "From the variable nomad/job-templates/NAME."},
                                                {"list-templates", "", "Lists those."}}),
               init));
  table.back().talks_to_server = true;
  auto action = shared(cli::action_command());
  action.name = "job action";
  table.push_back(std::move(action));
}

}  // namespace underway::nomad
