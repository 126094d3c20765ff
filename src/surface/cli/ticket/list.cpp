#include "base/json/json.hpp"
#include "cli/context.hpp"
#include "cli/current_time.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

std::size_t ticket_table_width() { return is_terminal(1) ? static_cast<std::size_t>(terminal_width()) : 0; }

int list_ages(const Arguments& arguments) {
  const auto ages = make_client(arguments).ticket_ages();
  if (print_formatted(arguments, json::to_value(ages))) return kDone;
  if (ages.empty())
    say("no ticket is open");
  else
    print(ticket_ages_text(ages, ticket_table_width()));
  return kDone;
}

int run_ticket_list(const Arguments& arguments) {
  if (arguments.has("ageing")) return list_ages(arguments);
  const sdk::TicketQuery which{.state = arguments.has("all")      ? "all"
                                        : arguments.has("closed") ? "closed"
                                                                  : "open",
                               .kind = arguments.get("kind"),
                               .assignee = arguments.get("assignee"),
                               .release = arguments.get("release"),
                               .key = arguments.get("key"),
                               .older = arguments.get("older")};
  const auto page = make_client(arguments).tickets(which, list_query(arguments));
  if (!print_formatted(arguments, json::to_value(page.rows))) {
    if (page.rows.empty())
      say("no such ticket");
    else
      print(ticket_list_text(page.rows, current_time(), ticket_table_width()));
  }
  tell_next_page(page.next_token);
  return kDone;
}

}  // namespace

const Command& ticket_list_command() {
  static const Command command{
      .name = "ticket list",
      .summary = "Lists tickets, the most urgent first, or how long they have been open.",
      .details = "Who has not the right operator:read sees the tickets that it opened itself.",
      .examples = {"underway ticket list", "underway ticket list -kind gate -release 2026.1",
                   "underway ticket list -assignee - -older 72h", "underway ticket list -ageing"},
      .flags = with_list_flags({{"all", "", "Closed ones as well."},
                                {"closed", "", "Closed ones only."},
                                {"kind", "KIND", "Of this kind only."},
                                {"assignee", "WHO", "Of this assignee only; - for those of nobody."},
                                {"release", "NAME", "That have to do with this release."},
                                {"key", "KEY", "Of this key."},
                                {"older", "DURATION", "Opened longer ago: 72h."},
                                {"ageing", "", "How long they have been open, by kind and by assignee."}}),
      .run = run_ticket_list};
  return command;
}

}  // namespace underway::cli
