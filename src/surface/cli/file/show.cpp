#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/file/text.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_file_show(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto file = find_file(client, arguments, arguments.positional().front());
  if (arguments.has("content") || arguments.find("node")) {
    const auto node = arguments.find("node");
    print(client.file_content(file.cluster, file.name, node ? resolve_node(client, *node) : std::string()));
    return kDone;
  }
  if (arguments.has("json"))
    print_json(json::to_value(file));
  else
    print(declaration_text(file));
  return kDone;
}

}  // namespace

const Command& file_show_command() {
  static const Command command{
      .name = "file show",
      .arguments = "PATH",
      .summary = "Shows how a synchronised file is declared, or its bytes.",
      .details = "With -node, the bytes are those that the node gets: a template is rendered for it.",
      .examples = {"underway file show /etc/slurm/slurm.conf", "underway file show -node c1 /etc/hosts"},
      .flags = {{"content", "", "Prints its master."},
                {"node", "NODE", "Prints what this node gets."},
                {"cluster", "NAME", "The cluster, when there are several."},
                {"json", "", "As JSON."}},
      .least = 1,
      .most = 1,
      .run = run_file_show};
  return command;
}

}  // namespace underway::cli
