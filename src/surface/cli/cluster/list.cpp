#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_cluster_list(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto clusters = client.clusters();
  if (arguments.has("json")) {
    print_json(json::to_value(clusters));
    return kDone;
  }
  Table table({"CLUSTER", "STATE", "POOLS", "JOBS", "DIRECTORY"});
  for (const auto& cluster : clusters)
    table.add({cluster.name, cluster.stop ? "going down" : "wanted", std::to_string(cluster.pools.size()),
               std::to_string(cluster.jobs.size()), cluster.directory});
  table.print();
  return kDone;
}

}  // namespace

const Command& cluster_list_command() {
  static const Command command{.name = "cluster list",
                               .summary = "Lists the clusters.",
                               .flags = {{"json", "", "As JSON."}},
                               .run = run_cluster_list};
  return command;
}

}  // namespace underway::cli
