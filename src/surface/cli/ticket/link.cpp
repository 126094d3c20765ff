#include "base/json/json.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

int run_ticket_link(const Arguments& arguments) {
  const auto number = ticket_number(arguments.positional().front());
  wire::LinkTicketBody body;
  (arguments.has("remove") ? body.remove : body.add) = ticket_links(arguments);
  body.needs_test = arguments.get("needs-test");
  if (body.add.empty() && body.remove.empty() && body.needs_test.empty())
    throw Error(Code::invalid, "it is not clear what it has to do with")
        .advise("say -about, -suspect or -blocks TARGET: `underway ticket link -h`");
  const auto view = make_client(arguments).link_ticket(number, body);
  print(fmt::format("Ticket {} has {} link{}, {} points\n", number, view.ticket.links.size(),
                    view.ticket.links.size() == 1 ? "" : "s", view.priority.points));
  return kDone;
}

}  // namespace

const Command& ticket_link_command() {
  static const Command command{
      .name = "ticket link",
      .arguments = "NUMBER",
      .summary = "Says what a ticket has to do with: releases, nodes, packages, jobs, logs, other tickets.",
      .details = "What it blocks counts for how urgent it is. That it needs a test is never taken back.",
      .examples = {"underway ticket link -blocks release:2026.1 -suspect package:openmpi 12",
                   "underway ticket link -about log:/var/log/smoke/17 12",
                   "underway ticket link -remove -about node:c12 12"},
      .flags = with_ticket_links({{"remove", "", "It has these links no longer."},
                                  {"needs-test", "REASON", "From now on it is closed with a test only."}}),
      .least = 1,
      .most = 1,
      .run = run_ticket_link};
  return command;
}

}  // namespace underway::cli
