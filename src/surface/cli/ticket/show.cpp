#include "base/json/json.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

int run_ticket_show(const Arguments& arguments) {
  const auto view = make_client(arguments).ticket(ticket_number(arguments.positional().front()));
  if (!print_formatted(arguments, json::to_value(view))) print(ticket_text(view, current_time()));
  return kDone;
}

}  // namespace

const Command& ticket_show_command() {
  static const Command command{.name = "ticket show",
                               .arguments = "NUMBER",
                               .summary = "Shows a ticket: why it is urgent, what was said and done, and by whom.",
                               .examples = {"underway ticket show 12"},
                               .flags = with_format_flags(),
                               .least = 1,
                               .most = 1,
                               .run = run_ticket_show};
  return command;
}

}  // namespace underway::cli
