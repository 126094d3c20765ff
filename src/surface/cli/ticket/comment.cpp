#include "cli/context.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

int run_ticket_comment(const Arguments& arguments) {
  const auto& words = arguments.positional();
  const auto file = arguments.find("file");
  if (file.has_value() == (words.size() == 2))
    throw Error(Code::invalid, "it is not clear what is to be said")
        .advise("underway ticket comment NUMBER TEXT, or NUMBER -file MESSAGE");
  const auto number = ticket_number(words.front());
  const std::string text = file ? read_input(*file) : words.back() == "-" ? read_input("-") : words.back();
  auto client = make_client(arguments);
  const auto commented = file ? client.take_ticket_mail(text, number) : client.comment_ticket(number, text);
  print(fmt::format("It is with ticket {}: {}\n", number, commented.shown.ticket.title));
  return kDone;
}

}  // namespace

const Command& ticket_comment_command() {
  static const Command command{
      .name = "ticket comment",
      .arguments = "NUMBER [TEXT]",
      .summary = "Says something about a ticket; also about a closed one.",
      .details = "TEXT - is read from standard input. -file reads a message with its headers, as `ticket open` does.",
      .examples = {"underway ticket comment 12 \"it is c13 as well\"", "underway ticket comment 12 -file message"},
      .flags = {{"file", "FILE", "A message with its headers, as mail is written; - for standard input."}},
      .least = 1,
      .most = 2,
      .run = run_ticket_comment};
  return command;
}

}  // namespace underway::cli
