// What changes jobs: run, plan, stop, start, eval, revert, scale, promote, dispatch, periodic force, restart.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/numbers.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/job/version.hpp"
#include "cli/terminal.hpp"
#include "model/job/cron.hpp"
#include "nomad/commands/monitor.hpp"
#include "nomad/find.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/job_plan.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::print;
using cli::text;

/// When the clock starts it next.
void tell_launch(const model::Job& job) {
  if (!job.periodic || !job.periodic->enabled || job.parameterized) return;
  const TimePoint now = cli::current_time();
  const auto next = model::next_time(job.periodic->expressions(), job.periodic->time_zone, now);
  if (!next) return;
  const auto wait = (unix_nanos(*next) - unix_nanos(now) + 500'000'000) / 1'000'000'000;
  print(fmt::format("Approximate next launch time: {} ({} from now)\n", cli::moment(unix_nanos(*next)),
                    go_duration(wait)));
}

/// What a job at another index than was checked is answered, on standard output as that client does.
sdk::RegisteredJob register_it(Api& api, const cli::LoadedJob& loaded, const std::optional<model::Revision>& enforce,
                               const sdk::Registration& how) {
  try {
    return api.client().register_job(loaded.job, loaded.submission, enforce, how);
  } catch (const Error& error) {
    constexpr std::string_view kConflict = "Enforcing job modify index";
    const std::string words = error.one_line();
    const auto at = words.find(kConflict);
    if (at == std::string::npos) throw;
    print(words.substr(at) + "\n");
    throw Error(error.code(), "Job not updated");
  }
}

int run_job(const Arguments& arguments) {
  const auto loaded = load_job_of(arguments);
  if (arguments.has("output")) {
    cli::print_json(object{{"Job", json::to_value(loaded.job)}});
    return 0;
  }
  Api api(arguments);
  api.use_namespace(loaded.job.ns);
  sdk::Registration how{arguments.has("preserve-counts"), arguments.has("preserve-resources")};
  if (const auto priority = arguments.number("eval-priority")) how.eval_priority = *priority;
  const auto registered = register_it(api, loaded, arguments.number("check-index"), how);
  if (!registered.warnings.empty())
    print(cli::paint(cli::Colour::yellow, "Job Warnings:\n" + registered.warnings) + "\n\n");
  if (arguments.has("detach") || loaded.job.starts_others()) {
    print("Job registration successful\n");
    tell_launch(loaded.job);
    if (!loaded.job.starts_others()) print(fmt::format("Evaluation ID: {}\n", registered.eval_id));
    return 0;
  }
  return watch_unless_detached(api, arguments, registered.eval_id);
}

int stop_one(Api& api, const std::string& given, const Arguments& arguments) {
  const std::string id = find_job(api, given);
  // Of several nothing is asked: all were typed in one breath.
  const bool asks = given != id && arguments.positional().size() == 1 && !arguments.has("yes");
  if (asks) {
    const auto answer = ask(fmt::format("Are you sure you want to stop job \"{}\"? [y/N]", id), "Cancelling job stop");
    if (answer != Answer::yes) return answer == Answer::no ? 0 : 1;
  }
  http::Query query;
  if (arguments.has("purge")) query.add("purge", "true");
  if (arguments.has("no-shutdown-delay")) query.add("no_shutdown_delay", "true");
  if (const auto priority = arguments.number("eval-priority")) query.add("eval_priority", std::to_string(*priority));
  const std::string eval = text(api.remove(job_path(id), query), "EvalID");
  if (arguments.has("detach") && !eval.empty()) print(eval + "\n");
  return watch_unless_detached(api, arguments, eval);
}

/// One that is missing does not keep the others running.
int stop_jobs(const Arguments& arguments) {
  int code = 0;
  for (const auto& given : arguments.positional()) {
    try {
      Api api(arguments);
      code = std::max(code, stop_one(api, given, arguments));
    } catch (const Error& error) {
      cli::say(error.text());
      code = std::max(code, 1);
    }
  }
  return code;
}

/// The newest version anew, without its stop.
int start(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = find_job(api, arguments.positional().front());
  Json job = api.get(job_path(id));
  if (!cli::truth(job, "Stop")) throw Error(Code::conflict, fmt::format("Job \"{}\" is not stopped", id));
  job.as_object()["Stop"] = false;
  object body{{"Job", job}};
  try {
    body["Submission"] = api.get(job_path(id, "/submission"), {{"version", text(job, "Version")}});
  } catch (const Error& error) {
    if (error.code() != Code::not_found) throw;  // a job that was registered without its source
  }
  const std::string eval = text(api.put("/v1/jobs", body), "EvalID");
  if (arguments.has("detach")) print(fmt::format("Evaluation ID: {}\n", eval));
  return watch_unless_detached(api, arguments, eval);
}

int evaluate(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = find_job(api, arguments.positional().front());
  const object options{{"ForceReschedule", arguments.has("force-reschedule")}};
  const std::string eval =
      text(api.put(job_path(id, "/evaluate"), object{{"JobID", id}, {"EvalOptions", options}}), "EvalID");
  if (arguments.has("detach"))
    print(fmt::format("Created eval ID: \"{}\"\n", cli::id_text(eval, arguments.has("verbose"))));
  return watch_unless_detached(api, arguments, eval);
}

int revert(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = find_job(api, arguments.positional().front());
  const auto version = cli::resolve_version(api.client(), id, arguments.positional().back());
  const auto answer = api.put(job_path(id, "/revert"), object{{"JobID", id}, {"JobVersion", version}});
  const std::string eval = text(answer, "EvalID");
  if (arguments.has("detach")) print(fmt::format("Evaluation ID: {}\n", eval));
  return watch_unless_detached(api, arguments, eval);
}

std::string only_group(Api& api, const std::string& job) {
  const auto& groups = cli::elements(api.get(job_path(job)), "TaskGroups");
  if (groups.size() != 1)
    throw Error(Code::invalid, "Group name required")
        .because(fmt::format("job \"{}\" has {} groups", job, groups.size()));
  return text(groups.front(), "Name");
}

int scale(const Arguments& arguments) {
  Api api(arguments);
  const auto& given = arguments.positional();
  const std::string id = find_job(api, given.front()), group = given.size() > 2 ? given[1] : only_group(api, id);
  const auto count = parse_number<std::int64_t>(given.back());
  if (!count || *count < 0) throw Error(Code::invalid, fmt::format("'{}' is not a count", given.back()));
  if (const auto index = arguments.number("check-index")) {
    const auto now = cli::number(api.get(job_path(id)), "JobModifyIndex");
    if (now != *index)
      throw Error(Code::conflict, fmt::format("Enforcing job modify index {}: job exists with conflicting job modify "
                                              "index: {}",
                                              *index, now));
  }
  const auto scaled = api.client().scale_job(id, group, *count, "submitted using the Nomad CLI");
  if (arguments.has("detach")) print(fmt::format("Evaluation ID: {}\n", scaled.eval_id));
  return watch_unless_detached(api, arguments, scaled.eval_id);
}

int promote_job(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = find_job(api, arguments.positional().front());
  const Json deployment = api.get(job_path(id, "/deployment"));
  if (text(deployment, "ID").empty())
    throw Error(Code::not_found, fmt::format("Job \"{}\" has no deployment to promote", id));
  const auto promoted = api.client().promote_deployment(text(deployment, "ID"), arguments.all("group"));
  if (arguments.has("detach")) print(fmt::format("Evaluation ID: {}\n", promoted.eval_id));
  return watch_unless_detached(api, arguments, promoted.eval_id);
}

int dispatch(const Arguments& arguments) {
  Api api(arguments);
  sdk::Dispatch wanted;
  wanted.job = find_job(api, arguments.positional().front(), JobKind::parameterized);
  if (arguments.positional().size() > 1) wanted.payload = cli::read_input(arguments.positional().back());
  for (const auto& pair : arguments.all("meta")) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) throw Error(Code::invalid, fmt::format("-meta '{}' is not KEY=VALUE", pair));
    wanted.meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  wanted.id_prefix_template = arguments.get("id-prefix-template");
  wanted.idempotency_token = arguments.get("idempotency-token");
  wanted.priority = arguments.number("priority").value_or(wanted.priority);
  const auto started = api.client().dispatch_job(wanted);
  cli::Lines lines{{"Dispatched Job ID", started.job_id}};
  if (!started.eval_id.empty())
    lines.emplace_back("Evaluation ID", cli::id_text(started.eval_id, arguments.has("verbose")));
  print(cli::facts_text(lines));
  if (started.eval_id.empty() || arguments.has("detach")) return 0;
  print("\n");
  return watch_unless_detached(api, arguments, started.eval_id);
}

int force(const Arguments& arguments) {
  Api api(arguments);
  const auto started = api.client().force_periodic(find_job(api, arguments.positional().front(), JobKind::periodic));
  if (arguments.has("detach") || started.eval_id.empty())
    print(fmt::format("Force periodic successful\nEvaluation ID: {}\n", started.eval_id));
  return watch_unless_detached(api, arguments, started.eval_id);
}

constexpr Flag kJson{"json", "", "The file is JSON, as `job inspect` prints it.", false};
constexpr Flag kPriority = cli::number_flag("eval-priority", "NUMBER", "The priority of the evaluation alone.");

}  // namespace

void add_job_changes(Table& table) {
  table.push_back(
      with_run(shared(cli::job_run_command(), {kJson,
                                               {"output", "", "Prints what would be sent, as JSON, and sends nothing."},
                                               kVerbose,
                                               kUi,
                                               kHcl1,
                                               kPolicyOverride,
                                               kConsulNamespace,
                                               kConsulToken,
                                               kVaultNamespace,
                                               kVaultToken}),
               run_job));
  auto planning = shared(cli::job_plan_command(), {kVerbose, kHcl1, kPolicyOverride, kVaultNamespace, kVaultToken});
  for (auto& flag : planning.flags) {
    if (flag.name == "json") flag = kJson;
  }
  table.push_back(with_run(std::move(planning), job_plan));
  auto stopping =
      shared(cli::job_stop_command(), {kVerbose, kPriority, {"global", "", "In all regions: there is one."}});
  stopping.arguments = "<job> [<job>…]";
  stopping.most = 1000;
  table.push_back(with_run(std::move(stopping), stop_jobs));
  table.push_back({.name = "job start",
                   .arguments = "<job>",
                   .summary = "Starts a stopped job again.",
                   .flags = {kDetach, kVerbose},
                   .least = 1,
                   .most = 1,
                   .run = start});
  table.push_back(with_run(shared(cli::job_eval_command(), {kVerbose}), evaluate));
  table.push_back(with_run(shared(cli::job_revert_command(), {kVerbose, kConsulToken, kVaultToken}), revert));
  table.push_back(
      with_run(shared(cli::job_scale_command(),
                      {kVerbose, cli::number_flag("check-index", "INDEX", "Only if the job's modify index is this.")}),
               scale));
  table.push_back(with_run(shared(cli::job_promote_command(), {kVerbose}), promote_job));
  table.push_back(with_run(shared(cli::job_dispatch_command(), {kVerbose, kUi}), dispatch));
  table.push_back(with_run(shared(cli::job_periodic_force_command(), {kVerbose}), force));
  table.push_back(shared(cli::job_restart_command(), {kVerbose}));
}

}  // namespace underway::nomad
