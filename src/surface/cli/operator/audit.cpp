#include "base/json/json.hpp"
#include "base/json/json_member.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// "2026-11-21T17:02:03Z  anna (192.0.2.7:4000)  PUT /v1/jobs  200  job default/web: Priority: 50 -> 60".
std::string one_line(const boost::json::object& record) {
  const std::string name = json::text_at(record, "Name");
  const auto* status = record.if_contains("Status");
  std::string out = fmt::format(
      "{}  {} ({})  {} {}  {}", json::text_at(record, "Time"), name.empty() ? json::text_at(record, "Accessor") : name,
      json::text_at(record, "Address"), json::text_at(record, "Method"), json::text_at(record, "Target"),
      status != nullptr && status->is_int64() ? status->get_int64() : 0);
  if (const auto subject = json::text_at(record, "Subject"); !subject.empty()) out += "  " + subject;
  if (const auto* changes = record.if_contains("Changes"); changes != nullptr && changes->is_array()) {
    std::string list;
    for (const auto& change : changes->get_array()) {
      if (change.is_string()) list += (list.empty() ? ": " : "; ") + std::string(std::string_view(change.get_string()));
    }
    out += list;
  }
  if (const auto error = json::text_at(record, "Error"); !error.empty()) out += "  " + paint(Colour::red, error);
  return out;
}

int run_operator_audit(const Arguments& arguments) {
  auto client = make_client(arguments);
  const bool as_json = arguments.has("json");
  client.audit(arguments.get("since"), arguments.get("who"), arguments.has("follow"), [&](std::string_view line) {
    const auto record = json::parse(line);
    print((as_json || !record.is_object() ? std::string(line) : one_line(record.get_object())) + "\n");
    return true;
  });
  return kDone;
}

}  // namespace

const Command& operator_audit_command() {
  static const Command command{
      .name = "operator audit",
      .summary = "Tells who changed what, when, and from where.",
      .details = "Needs management rights. The same lines, as JSON, are in server/audit.log of the state directory.",
      .examples = {"underway operator audit -since 2h", "underway operator audit -follow -who anna"},
      .flags = {{"since", "TIME", "From this instant (RFC 3339), or so long ago: 90m."},
                {"who", "WHO", "Only of this token: its name, or the beginning of its accessor id."},
                {"follow", "", "Goes on with what happens."},
                {"json", "", "One JSON object a line."}},
      .run = run_operator_audit};
  return command;
}

}  // namespace underway::cli
