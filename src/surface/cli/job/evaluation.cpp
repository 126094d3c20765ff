#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/job/diff_text.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int list_evaluations(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto page = client.evaluations(list_query(arguments));
  const auto& evaluations = page.rows;
  tell_next_page(page.next_token);
  if (print_formatted(arguments, json::to_value(evaluations))) return kDone;
  Table table({"ID", "Priority", "Triggered By", "Job ID", "Status", "Placement Failures"});
  for (const auto& e : evaluations) {
    table.add({arguments.has("verbose") ? e.id : short_id(e.id), std::to_string(e.priority),
               std::string(describe::spell(e.triggered_by)), e.job_id, std::string(describe::spell(e.status)),
               e.failed_groups.empty() ? "false" : "true"});
  }
  table.print();
  return kDone;
}

int status_evaluation(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto e = client.evaluation(resolve_evaluation(client, arguments.positional().front())).value;
  if (print_formatted(arguments, json::to_value(e))) return kDone;
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

/// Of one evaluation by its id, or of all that an expression wants: after a look at how many that are.
int remove_evaluation(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string filter = arguments.get("filter");
  const auto& named = arguments.positional();
  if (named.empty() == filter.empty())
    throw Error(Code::invalid, "either an id or -filter must be given")
        .advise("`underway eval list` shows what there is");
  if (named.empty() && !arguments.has("yes")) {
    const auto count = client.count_evaluations(filter);
    if (count == 0) {
      print("No evaluations match the expression\n");
      return kDone;
    }
    if (!confirm(fmt::format("Delete {} evaluations?", count))) return kFailed;
  }
  std::vector<std::string> ids;
  for (const auto& prefix : named) ids.push_back(resolve_evaluation(client, prefix));
  const auto count = client.delete_evaluations(ids, filter);
  print(fmt::format("Successfully deleted {} evaluation{}\n", count, count == 1 ? "" : "s"));
  return kDone;
}

}  // namespace

const Command& eval_delete_command() {
  static const Command command{
      .name = "eval delete",
      .arguments = "[ID]",
      .summary = "Forgets evaluations, when a backlog of them is in the way.",
      .details =
          "Nothing that runs is touched, and evaluations behind what runs are kept. A job whose evaluation waited for "
          "room is looked at again when something else has it evaluated: `underway job eval`.",
      .examples = {"underway eval delete -filter 'Status == blocked and JobID == \"large\"'"},
      .flags = {{"filter", "EXPRESSION", "All that the expression wants."}, {"yes", "", "Without asking."}},
      .least = 0,
      .most = 1,
      .run = remove_evaluation};
  return command;
}

const Command& eval_list_command() {
  static const Command command{.name = "eval list",
                               .summary = "Lists evaluations, oldest first.",
                               .examples = {"underway eval list -filter 'Status == blocked' -per-page 20"},
                               .flags = with_list_flags({{"verbose", "", "Whole ids."}}),
                               .run = list_evaluations};
  return command;
}

const Command& eval_status_command() {
  static const Command command{.name = "eval status",
                               .arguments = "ID",
                               .summary = "Shows an evaluation, and why something could not be placed.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = status_evaluation};
  return command;
}

}  // namespace underway::cli
