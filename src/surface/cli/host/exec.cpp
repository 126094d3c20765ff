#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/alloc/exec_terminal.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

/// The host of that name; with several clusters "CLUSTER/HOST" tells which.
model::Host find_host(sdk::Client& client, const std::string& name) {
  const std::size_t slash = name.find('/');
  const std::string cluster = slash == std::string::npos ? "" : name.substr(0, slash);
  const std::string host_name = slash == std::string::npos ? name : name.substr(slash + 1);
  std::vector<model::Host> found;
  std::vector<std::string> names;
  for (auto& host : client.hosts(cluster)) {
    names.push_back(host.name);
    if (host.name == host_name) found.push_back(std::move(host));
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1)
    throw Error(Code::conflict, fmt::format("there is a host '{}' in {} clusters", host_name, found.size()))
        .advise("name it as CLUSTER/HOST");
  Error error(Code::not_found, fmt::format("there is no host '{}'", host_name));
  if (!names.empty()) error.because("there are " + join_some(names, 10));
  throw error.advise("name one of `underway host list`");
}

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
