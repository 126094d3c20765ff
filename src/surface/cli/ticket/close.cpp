#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

int run_ticket_close(const Arguments& arguments) {
  const auto number = ticket_number(arguments.positional().front());
  const wire::CloseTicketBody body{.reason = arguments.get("reason"),
                                   .test = arguments.get("test"),
                                   .duplicate_of = arguments.number("duplicate-of").value_or(0)};
  if (body.reason.empty() && body.test.empty() && body.duplicate_of == 0)
    throw Error(Code::invalid, "how did it end?").advise("say -reason TEXT, -test NAME or -duplicate-of NUMBER");
  const auto view = make_client(arguments).close_ticket(number, body);
  print(fmt::format("Ticket {} is closed: {}\n", number, view.ticket.title));
  return kDone;
}

}  // namespace

const Command& ticket_close_command() {
  static const Command command{
      .name = "ticket close",
      .arguments = "NUMBER",
      .summary = "Closes a ticket, for a reason.",
      .details =
          "One that surprised during an outage, or needs a test for another reason, is closed with -test only, which "
          "names the test that keeps it from coming back. As a duplicate it leaves what it blocks, and the test that "
          "it "
          "needs, to the other one.",
      .examples = {"underway ticket close -reason \"the switch was off\" 12",
                   "underway ticket close -test power_feeds_are_apart -reason \"wired anew\" 13",
                   "underway ticket close -duplicate-of 12 14"},
      .flags = {{"reason", "TEXT", "How it ended."},
                {"test", "NAME", "The test that keeps it from coming back."},
                number_flag("duplicate-of", "NUMBER", "The open ticket that tells of the same.", {.least = 1})},
      .least = 1,
      .most = 1,
      .run = run_ticket_close};
  return command;
}

}  // namespace underway::cli
