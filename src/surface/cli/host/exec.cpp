#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/alloc/exec_terminal.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/host/find_host.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_host_exec(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto host = find_host(client, arguments.positional().front());
  sdk::ExecSession session;
  session.command.assign(arguments.positional().begin() + 1, arguments.positional().end());
  const bool shell = session.command.empty();
  if (shell) session.command = {"/bin/sh", "-c", "command -v bash >/dev/null && exec bash -l || exec sh -l"};
  session.tty = arguments.find("t") ? arguments.has("t") : is_terminal(0) && is_terminal(1);
  session.user = arguments.get("user");
  session.cwd = arguments.get("cwd");
  return run_in_terminal(
      std::move(session), arguments.get("i", "true") != "false", escape_of(arguments),
      [&](const sdk::ExecSession& ready) { return client.exec_on_host(host.cluster, host.name, ready); });
}

}  // namespace

const Command& host_exec_command() {
  static const Command command{
      .name = "host exec",
      .arguments = "[CLUSTER/]HOST [-- COMMAND…]",
      .summary = "Runs a command on a host of a cluster; without one, a shell.",
      .details =
          "Standard input, output, window size and exit code are handed through. Flags come before the host's name.",
      .examples = {"underway host exec login -- sinfo",
                   "underway host exec login -- sbatch --wrap 'sleep 60; hostname'", "underway host exec c1"},
      .flags = {{"t", "BOOL", "A terminal on the host; by default when standard input and output are one."},
                {"i", "BOOL", "Whether standard input is handed through; true."},
                kEscape,
                {"user", "NAME", "The user it runs as; root."},
                {"cwd", "DIR", "Where it runs; the user's home."}},
      .least = 1,
      .most = 1000,
      .passes_on = true,
      .run = run_host_exec};
  return command;
}

}  // namespace underway::cli
