#include <thread>

#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/terminal.hpp"
#include "nomad/commands/deployment_status.hpp"
#include "nomad/commands/monitor.hpp"
#include "nomad/find.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/deployment_text.hpp"
#include "nomad/text/rows.hpp"

namespace underway::nomad {
namespace {

using cli::elements;
using cli::print;

int list_deployments(const Arguments& arguments) {
  Api api(arguments);
  const Json all = api.get("/v1/deployments", cli::list_query_of(arguments));
  if (cli::print_formatted(arguments, all)) return 0;
  print(deployments_text(elements(all), arguments.has("verbose")));
  cli::tell_next_page(api, arguments, "nomad deployment list");
  return 0;
}

std::string named(Api& api, const Arguments& arguments) {
  return find_deployment(api, arguments.positional().front(), arguments.has("verbose"));
}

int promote_deployment(const Arguments& arguments) {
  Api api(arguments);
  const auto promoted = api.client().promote_deployment(named(api, arguments), arguments.all("group"));
  if (arguments.has("detach")) print(fmt::format("Evaluation ID: {}\n", promoted.eval_id));
  return watch_unless_detached(api, arguments, promoted.eval_id);
}

int fail(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = named(api, arguments);
  const auto failed = api.client().fail_deployment(id);
  print(failed.reverted_version
            ? fmt::format("Deployment \"{}\" failed. Auto-reverted to job version {}.\n", id, *failed.reverted_version)
            : fmt::format("Deployment \"{}\" failed\n", id));
  if (failed.eval_id.empty()) return 0;
  print("\n");
  if (arguments.has("detach")) print(fmt::format("Evaluation ID: {}\n", failed.eval_id));
  return watch_unless_detached(api, arguments, failed.eval_id);
}

int pause(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = named(api, arguments);
  api.client().pause_deployment(id, true);
  print(fmt::format("Deployment \"{}\" paused\n", id));
  return 0;
}

int resume(const Arguments& arguments) {
  Api api(arguments);
  const std::string id = named(api, arguments);
  const auto resumed = api.client().pause_deployment(id, false);
  print(fmt::format("Deployment \"{}\" resumed\n", id));
  if (arguments.has("detach") && !resumed.eval_id.empty()) print(fmt::format("Evaluation ID: {}\n", resumed.eval_id));
  return watch_unless_detached(api, arguments, resumed.eval_id);
}

/// What became of the deployment is told in words: 0 in any case.
int monitor(Api& api, const std::string& id, const Arguments& arguments) {
  const auto given = arguments.find("wait");
  const auto every = given ? parse_duration(*given) : Duration(std::chrono::seconds(2));
  if (!every || *every <= Duration{0}) throw Error(Code::invalid, fmt::format("-wait '{}' is no duration", *given));
  print(fmt::format("{}: Monitoring deployment \"{}\"\n", cli::moment(unix_nanos(cli::current_time())),
                    cli::id_text(id, arguments.has("verbose"))));
  follow_deployment(api, id, arguments.has("verbose"), std::chrono::ceil<std::chrono::milliseconds>(*every));
  return 0;
}

}  // namespace

int deployment_status(const Arguments& arguments) {
  Api api(arguments);
  if (arguments.positional().empty()) {
    const Json all = api.get("/v1/deployments");
    if (!cli::print_formatted(arguments, all)) print(deployments_text(elements(all), arguments.has("verbose")));
    return 0;
  }
  const bool formatted = arguments.has("json") || arguments.find("t");
  if (arguments.has("monitor") && formatted)
    throw Error(Code::invalid, "The monitor flag cannot be used with the '-json' or '-t' flags");
  const std::string id = named(api, arguments);
  if (arguments.has("monitor")) return monitor(api, id, arguments);
  const Json deployment = api.get("/v1/deployment/" + cli::part(id));
  if (!cli::print_formatted(arguments, deployment)) print(deployment_text(deployment, arguments.has("verbose")));
  return 0;
}

void add_deployment_commands(Table& table) {
  table.push_back(with_run(shared(cli::deployment_list_command(), {kVerbose}), list_deployments));
  table.push_back({.name = "deployment status",
                   .arguments = "[<deployment>]",
                   .summary = "Shows how far a deployment is.",
                   .flags = cli::with_format_flags({kVerbose,
                                                    {"monitor", "", "Until it is over, or waits for a person."},
                                                    {"wait", "DURATION", "How often -monitor looks; 2s."},
                                                    kUi}),
                   .most = 1,
                   .run = deployment_status});
  table.push_back(with_run(shared(cli::deployment_promote_command(), {kVerbose}), promote_deployment));
  table.push_back(with_run(shared(cli::deployment_fail_command(), {kVerbose}), fail));
  table.push_back(with_run(shared(cli::deployment_pause_command(), {kVerbose}), pause));
  table.push_back(with_run(shared(cli::deployment_resume_command(), {kVerbose}), resume));
}

}  // namespace underway::nomad
