#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_file_remove(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto file = find_file(client, arguments, arguments.positional().front());
  client.remove_file(file.cluster, file.name);
  say(fmt::format(
      "file '{}' is not synchronised any more; {}", file.name,
      file.when_removed == model::RemovedPolicy::keep ? "nodes keep what they have of it" : "it goes from nodes"));
  return kDone;
}

}  // namespace

const Command& file_remove_command() {
  static const Command command{.name = "file remove",
                               .arguments = "PATH",
                               .summary = "Ends the synchronisation of a file.",
                               .details =
                                   "Nodes keep what they have of it, unless it was declared with when_removed = "
                                   "\"remove\". To have a file removed "
                                   "everywhere, and kept away, declare it with -type absent.",
                               .examples = {"underway file remove /etc/motd"},
                               .flags = {{"cluster", "NAME", "The cluster, when there are several."}},
                               .least = 1,
                               .most = 1,
                               .run = run_file_remove};
  return command;
}

}  // namespace underway::cli
