// The key that signs what nodes shall have of files.
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string since(std::int64_t nanos) { return nanos == 0 ? "the beginning" : format_time(from_unix_nanos(nanos)); }

std::string listed(const std::vector<std::string>& nodes) { return nodes.empty() ? "-" : join(nodes, ", "); }

void print_state(const model::FileKeyState& state) {
  std::vector<std::pair<std::string, std::string>> rows = {{"Key", state.key}, {"Signs since", since(state.since)}};
  if (!state.next.empty()) {
    rows.emplace_back("Next key", state.next);
    rows.emplace_back("Told since", since(state.next_since));
  }
  rows.emplace_back(state.next.empty() ? "Believed not yet by" : "Waits for", listed(state.waiting));
  rows.emplace_back("Off, and behind", listed(state.behind));
  print(key_values(rows));
}

int info_file_key(const Arguments& arguments) {
  const auto state = make_client(arguments).file_key();
  if (arguments.has("json"))
    print_json(json::to_value(state));
  else
    print_state(state);
  return kDone;
}

int rotate_file_key(const Arguments& arguments) {
  const bool force = arguments.has("force");
  if (force && !arguments.has("yes") && is_terminal(0) &&
      !confirm("The old key is withdrawn at once. Nodes whose agents know no rotation take no files then. Do it?")) {
    say("nothing was changed");
    return kFailed;
  }
  const auto state = make_client(arguments).rotate_file_key(force);
  print_state(state);
  if (!state.next.empty())
    say("the new key signs, and the old one is withdrawn, as soon as all who are alive believe it");
  return kDone;
}

}  // namespace

const Command& file_key_info_command() {
  static const Command command{.name = "file key info",
                               .summary = "Shows the key that signs manifests of files, and how its rotation goes.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = info_file_key};
  return command;
}

const Command& file_key_rotate_command() {
  static const Command command{
      .name = "file key rotate",
      .summary = "Has another key sign what nodes shall have of files.",
      .details =
          "Nodes learn to believe the new key while the old one signs; once all that are alive have said so, the new "
          "one signs and the old one is withdrawn, by itself. Nodes that are off take the same steps when they are "
          "back.\n\nWith -force at once, for a key that has leaked: the old key is refused from now on, by linked "
          "nodes "
          "within a moment. It also ends a rotation that waits for a node.",
      .examples = {"underway file key rotate", "underway file key rotate -force"},
      .flags = {{"force", "", "Withdraws the old key at once."}, {"yes", "", "Does not ask."}},
      .run = rotate_file_key};
  return command;
}

}  // namespace underway::cli
