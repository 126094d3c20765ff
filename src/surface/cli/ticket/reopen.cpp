#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

int run_ticket_reopen(const Arguments& arguments) {
  const auto number = ticket_number(arguments.positional().front());
  const auto why = arguments.get("reason");
  if (why.empty()) throw Error(Code::invalid, "why is it open again?").advise("say -reason TEXT");
  const auto view = make_client(arguments).reopen_ticket(number, why);
  print(fmt::format("Ticket {} is open again: {}\n", number, view.ticket.title));
  return kDone;
}

}  // namespace

const Command& ticket_reopen_command() {
  static const Command command{
      .name = "ticket reopen",
      .arguments = "NUMBER",
      .summary = "Opens a closed ticket again, for a reason.",
      .details = "If it needs a test, it needs another one than that which it was closed with.",
      .examples = {"underway ticket reopen -reason \"it happened again\" 12"},
      .flags = {{"reason", "TEXT", "Why it is not over."}},
      .least = 1,
      .most = 1,
      .run = run_ticket_reopen};
  return command;
}

}  // namespace underway::cli
