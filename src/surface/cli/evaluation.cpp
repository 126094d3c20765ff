#include "base/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/diff_text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int list(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto evaluations = client.evaluations();
  if (arguments.has("json")) {
    print_json(json::to_value(evaluations));
    return kDone;
  }
  Table table({"ID", "Priority", "Triggered By", "Job ID", "Status", "Placement Failures"});
  for (const auto& e : evaluations) {
    table.add({short_id(e.id), std::to_string(e.priority), std::string(describe::spell(e.triggered_by)), e.job_id,
               std::string(describe::spell(e.status)), e.failed_groups.empty() ? "false" : "true"});
  }
  table.print();
  return kDone;
}

int status(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto e = client.evaluation(resolve_evaluation(client, arguments.positional().front())).value;
  if (arguments.has("json")) {
    print_json(json::to_value(e));
    return kDone;
  }
  print(key_values({{"ID", e.id},
                    {"Create Time", ago(e.create_time)},
                    {"Status", std::string(describe::spell(e.status))},
                    {"Status Description", e.status_description},
                    {"Type", std::string(describe::spell(e.type))},
                    {"TriggeredBy", std::string(describe::spell(e.triggered_by))},
                    {"Job ID", e.job_id},
                    {"Priority", std::to_string(e.priority)},
                    {"Placement Failures", e.failed_groups.empty() ? "false" : "true"}}));
  if (!e.failed_groups.empty()) print("\nFailed Placements\n" + failures_text(e.failed_groups));
  return kDone;
}

}  // namespace

const Command& eval_list_command() {
  static const Command command{.name = "eval list",
                               .summary = "Lists evaluations, newest first.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = list};
  return command;
}

const Command& eval_status_command() {
  static const Command command{.name = "eval status",
                               .arguments = "ID",
                               .summary = "Shows an evaluation, and why something could not be placed.",
                               .flags = {{"json", "", "As JSON."}},
                               .least = 1,
                               .most = 1,
                               .run = status};
  return command;
}

}  // namespace underway::cli
