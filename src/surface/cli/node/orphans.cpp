// What nodes run that the server does not know: list, keep, stop.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

void print_orphans(const std::vector<model::Orphans>& all) {
  Table table({"NODE", "ID", "JOB", "VERSION", "GROUP", "NAMESPACE"});
  for (const auto& node : all) {
    for (const auto& allocation : node.allocations)
      table.add({node.node_name, short_id(allocation.id), allocation.job_id, std::to_string(allocation.job_version),
                 allocation.group, allocation.ns});
  }
  if (table.empty()) {
    print("No orphans: the server knows all that its nodes run\n");
    return;
  }
  table.print();
}

int run_node_orphans(const Arguments& arguments) {
  const bool keep = arguments.has("keep"), stop = arguments.has("stop");
  if (keep && stop) throw Error(Code::invalid, "either -keep or -stop can be given");
  if ((keep || stop) && arguments.positional().empty() && !arguments.has("all"))
    throw Error(Code::invalid, "of which node?").advise("name it, or say -all");
  auto client = make_client(arguments);
  auto all = client.orphans();
  if (!arguments.positional().empty()) {
    const std::string id = resolve_node(client, arguments.positional().front());
    std::erase_if(all, [&](const auto& node) { return node.node_id != id; });
  }
  if (!keep && !stop) {
    if (arguments.has("json"))
      print_json(json::to_value(all));
    else
      print_orphans(all);
    return kDone;
  }
  std::vector<std::string> ids;
  for (const auto& node : all) ids.push_back(node.node_id);
  if (ids.empty()) {
    print_orphans(all);
    return kDone;
  }
  const auto count = client.decide_orphans(ids, keep);
  print(fmt::format("{} {}\n", count, keep ? "kept, and known from now on" : "being stopped"));
  return kDone;
}

}  // namespace

const Command& node_orphans_command() {
  static const Command command{
      .name = "node orphans",
      .arguments = "[ID|NAME]",
      .summary = "What nodes run that the server does not know, and what shall become of it.",
      .details =
          "A server whose state was lost, or restored to an older one, does not know what its nodes were told since. "
          "They keep it running, and nothing new comes to them. With -keep the server takes it over; a job that it "
          "does not know, or in an older version, becomes what the nodes know of it. Those of a job are kept "
          "together, on whatever nodes they are. With -stop it is stopped.",
      .examples = {"underway node orphans", "underway node orphans -keep gpu-014", "underway node orphans -stop -all"},
      .flags = {{"keep", "", "The server takes them over."},
                {"stop", "", "The node stops them, and removes their directories."},
                {"all", "", "Of every node that has some."},
                {"json", "", "Everything as JSON."}},
      .least = 0,
      .most = 1,
      .run = run_node_orphans};
  return command;
}

}  // namespace underway::cli
