#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_alloc_checks(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto results = client.allocation_checks(resolve_allocation(client, arguments.positional().front()));
  if (print_formatted(arguments, json::to_value(results))) return kDone;
  if (results.empty()) say("the allocation has no checks");
  Table table({"Check", "Service", "Task", "Status", "Code", "Last", "Output"});
  for (const auto& [id, result] : results) {
    const std::string output = result.output.substr(0, result.output.find('\n'));
    table.add({result.check, result.service, result.task.empty() ? "(group)" : result.task,
               std::string(describe::spell(result.status)),
               result.status_code == 0 ? "" : std::to_string(result.status_code), ago(result.timestamp * 1'000'000'000),
               output});
  }
  table.print();
  return kDone;
}

}  // namespace

const Command& alloc_checks_command() {
  static const Command command{.name = "alloc checks",
                               .arguments = "ID",
                               .summary = "Shows what the checks of an allocation say.",
                               .details =
                                   "Its node is asked. Each line is the newest attempt of one check; -json has "
                                   "the whole output.",
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = run_alloc_checks};
  return command;
}

}  // namespace underway::cli
