#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

int run_ticket_assign(const Arguments& arguments) {
  const auto& words = arguments.positional();
  if (arguments.has("nobody") == (words.size() == 2))
    throw Error(Code::invalid, "who is to look after it?").advise("name somebody, or say -nobody");
  const auto who = words.size() == 2 ? words.back() : std::string();
  const auto view = make_client(arguments).assign_ticket(ticket_number(words.front()), who);
  print(fmt::format("Ticket {} is looked after by {}\n", view.ticket.number, who.empty() ? "nobody" : who));
  return kDone;
}

}  // namespace

const Command& ticket_assign_command() {
  static const Command command{.name = "ticket assign",
                               .arguments = "NUMBER [WHO]",
                               .summary = "Says who looks after a ticket.",
                               .examples = {"underway ticket assign 12 ada", "underway ticket assign -nobody 12"},
                               .flags = {{"nobody", "", "Nobody does any more."}},
                               .least = 1,
                               .most = 2,
                               .run = run_ticket_assign};
  return command;
}

}  // namespace underway::cli
