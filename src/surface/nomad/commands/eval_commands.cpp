#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/commands/deployment_status.hpp"
#include "nomad/commands/monitor.hpp"
#include "nomad/find.hpp"
#include "nomad/table.hpp"
#include "nomad/text/group_failure.hpp"
#include "nomad/text/rows.hpp"
#include "nomad/text/text.hpp"

namespace underway::nomad {
namespace {

using cli::elements;
using cli::id_text;
using cli::number;
using cli::print;
using cli::text;

int list_evaluations(const Arguments& arguments) {
  Api api(arguments);
  auto query = cli::list_query_of(arguments);
  if (const auto job = arguments.find("job")) query.add("job", *job);
  if (const auto status = arguments.find("status")) query.add("status", *status);
  const Json all = api.get("/v1/evaluations", std::move(query));
  if (cli::print_formatted(arguments, all)) return 0;
  if (elements(all).empty()) {
    print("No evals found\n");
    return 0;
  }
  print(evaluations_text(elements(all), arguments.has("verbose")));
  cli::tell_next_page(api, arguments, "nomad eval list");
  return 0;
}

/// Why there is such an evaluation, where that is another thing than its job.
void add_cause(cli::Lines& lines, const Json& evaluation, bool verbose) {
  const std::string cause = text(evaluation, "TriggeredBy");
  if (cause == "node-update") lines.emplace_back("Node ID", id_text(text(evaluation, "NodeID"), verbose));
  if (cause == "max-plan-attempts")
    lines.emplace_back("Previous Eval", id_text(text(evaluation, "PreviousEval"), verbose));
}

std::string facts(const Json& evaluation, bool verbose) {
  const auto when = [&](const char* name) {
    const auto nanos = number(evaluation, name);
    return verbose ? cli::moment(nanos) : cli::since(nanos);
  };
  const std::string status = text(evaluation, "Status"), described = text(evaluation, "StatusDescription");
  cli::Lines lines{{"ID", id_text(text(evaluation, "ID"), verbose)},
                   {"Create Time", when("CreateTime")},
                   {"Modify Time", when("ModifyTime")},
                   {"Status", status},
                   {"Status Description", described.empty() ? status : described},
                   {"Type", text(evaluation, "Type")},
                   {"TriggeredBy", text(evaluation, "TriggeredBy")},
                   {"Job ID", text(evaluation, "JobID")},
                   {"Namespace", text(evaluation, "Namespace")}};
  add_cause(lines, evaluation, verbose);
  lines.insert(lines.end(),
               {{"Priority", text(evaluation, "Priority")}, {"Placement Failures", placement_failures(evaluation)}});
  if (const auto until = cli::moment_of(cli::member(evaluation, "WaitUntil")); !until.empty())
    lines.emplace_back("Wait Until", until);
  if (verbose) {
    for (const auto& [name, member] : {std::pair("Previous Eval", "PreviousEval"), std::pair("Next Eval", "NextEval"),
                                       std::pair("Blocked Eval", "BlockedEval")})
      lines.emplace_back(name, text(evaluation, member));
  }
  return cli::facts_text(lines);
}

void print_related(const Json& evaluation) {
  Rows rows;
  for (const auto& related : elements(evaluation, "RelatedEvals"))
    rows.push_back({text(related, "ID"), text(related, "Priority"), text(related, "TriggeredBy"),
                    text(related, "NodeID"), text(related, "Status"), text(related, "StatusDescription")});
  if (rows.empty()) return;
  print("\nRelated Evaluations\n" +
        cli::table_text({"ID", "Priority", "Triggered By", "Node ID", "Status", "Description"}, rows));
}

void print_failures(const Json& evaluation, bool verbose) {
  const auto failures = failures_of(cli::member(evaluation, "FailedTGAllocs"));
  if (failures.empty()) return;
  print("\nFailed Placements\n");
  for (const auto& failure : failures) print(failure.title() + "\n" + failure.reasons("  ") + "\n");
  if (const auto blocked = text(evaluation, "BlockedEval"); !blocked.empty())
    print(fmt::format("Evaluation \"{}\" waiting for additional capacity to place remainder\n",
                      id_text(blocked, verbose)));
}

}  // namespace

int eval_status(const Arguments& arguments) {
  Api api(arguments);
  const bool verbose = arguments.has("verbose");
  if (arguments.positional().empty()) {
    if (!cli::print_formatted(arguments, api.get("/v1/evaluations")))
      throw Error(Code::invalid, "This command takes an evaluation ID, or -json or -t for all");
    return 0;
  }
  const std::string id = find_evaluation(api, arguments.positional().front(), verbose);
  if (arguments.has("monitor")) return watch_evaluation(api, id, verbose);
  const Json evaluation = api.get("/v1/evaluation/" + cli::part(id), {{"related", "true"}});
  if (cli::print_formatted(arguments, evaluation)) return 0;
  print(facts(evaluation, verbose));
  if (verbose) {
    print_related(evaluation);
    const Json placed = api.get("/v1/evaluation/" + cli::part(id) + "/allocations");
    if (!elements(placed).empty()) print("\nPlaced Allocations\n" + allocations_text(elements(placed), verbose));
  }
  print_failures(evaluation, verbose);
  return 0;
}

void add_eval_commands(Table& table) {
  auto listing =
      shared(cli::eval_list_command(), {{"job", "ID", "Of this job only."},
                                        {"status", "STATUS", "With this status only."},
                                        {"monitor", "", "Without effect: `eval status -monitor` watches one."},
                                        kUi});
  listing.run = list_evaluations;
  table.push_back(std::move(listing));
  table.push_back(
      {.name = "eval status",
       .arguments = "<evaluation>",
       .summary = "Shows an evaluation, and why something could not be placed.",
       .details = "With -monitor exits 0 when all was placed, 2 when something could not be, 1 on other failures.",
       .flags = cli::with_format_flags({{"monitor", "", "Watches it to its end."}, kVerbose, kUi}),
       .most = 1,
       .run = eval_status});
}

}  // namespace underway::nomad
