#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/context.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "cli/ticket/commands.hpp"
#include "cli/ticket/text.hpp"

namespace underway::cli {
namespace {

model::TicketKind ticket_kind(const std::string& word) {
  const auto& kinds = model::description(describe::Tag<model::TicketKind>{});
  if (const auto kind = kinds.parse(word)) return static_cast<model::TicketKind>(*kind);
  throw Error(Code::invalid, fmt::format("-kind '{}' is no kind of ticket", word))
      .advise("use one of " + join(kinds.names(), ", "));
}

wire::OpenTicketBody ticket_body(const Arguments& arguments) {
  wire::OpenTicketBody body;
  body.title = arguments.positional().front();
  body.body = arguments.get("body");
  if (body.body == "-") body.body = read_input("-");
  body.kind = ticket_kind(arguments.get("kind", "user"));
  body.key = arguments.get("key");
  body.needs_test = arguments.get("needs-test");
  body.assignee = arguments.get("assignee");
  body.links = ticket_links(arguments);
  return body;
}

int run_ticket_open(const Arguments& arguments) {
  const auto file = arguments.find("file");
  if (file.has_value() != arguments.positional().empty())
    throw Error(Code::invalid,
                file ? "the message of -file has a subject: no other title is needed" : "it has no title")
        .advise("underway ticket open TITLE -body TEXT, or -file MESSAGE");
  const std::string message = file ? read_input(*file) : std::string();
  auto client = make_client(arguments);
  const auto opened = file ? client.take_ticket_mail(message) : client.open_ticket(ticket_body(arguments));
  if (!print_formatted(arguments, json::to_value(opened))) print(opened_text(opened));
  return kDone;
}

}  // namespace

const Command& ticket_open_command() {
  static const Command command{
      .name = "ticket open",
      .arguments = "[TITLE]",
      .summary = "Opens a ticket: what failed, or what is asked for.",
      .details =
          "What may fail again has a -key: while a ticket of it is open, it is counted there and no other is opened. "
          "With -file the ticket is what a message says: its subject, and its text; X-Underway-Kind and X-Underway-Key "
          "among its headers are as the flags. A message that answers one which was taken before, or has [#NUMBER] in "
          "its subject, is a comment on that ticket. The reporter is who runs this, whatever its From says. Kinds "
          "other "
          "than user and other, and all flags but -body, -file and -about, need the right operator:write.",
      .examples =
          {"underway ticket open -body \"since Monday\" -about node:c12 \"mpirun hangs\"",
           "underway ticket open -kind gate -key gate/smoke/2026.1 -blocks release:2026.1 \"gate smoke is red\"",
           "underway ticket open -file - < message"},
      .flags = with_format_flags(
          with_ticket_links({{"body", "TEXT", "All that is known of it; - reads it from standard input."},
                             {"file", "FILE", "A message with its headers, as mail is written; - for standard input."},
                             {"kind", "KIND", "gate, build, sync, drift, reinstall, outage, user or other; user."},
                             {"key", "KEY", "Of what may be told again."},
                             {"needs-test", "REASON", "It is closed with a test only. One of an outage is anyway."},
                             {"assignee", "WHO", "Who is to look after it."}})),
      .most = 1,
      .run = run_ticket_open};
  return command;
}

}  // namespace underway::cli
