#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_monitor(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string named = arguments.get("node-id");
  const std::string node = named.empty() ? "" : resolve_node(client, named);
  client.monitor(node, arguments.get("log-level", "info"), arguments.has("json"), [](std::string_view piece) {
    print(piece);
    return true;
  });
  return kDone;
}

}  // namespace

const Command& monitor_command() {
  static const Command command{
      .name = "monitor",
      .summary = "Follows the log of the server, or of a node.",
      .details = "Until it is interrupted. Lower levels than the agent itself writes can be asked for.",
      .examples = {"underway monitor -log-level debug", "underway monitor -node-id c1"},
      .flags = {{"log-level", "LEVEL", "The lowest: trace, debug, info, warn, error."},
                {"node-id", "ID|NAME", "The log of that node's agent."},
                {"server-id", "ID", "For Nomad's scripts: there is one server."},
                {"json", "", "One JSON object a line."}},
      .run = run_monitor};
  return command;
}

}  // namespace underway::cli
