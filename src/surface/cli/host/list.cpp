#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/context.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

int run_host_list(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto hosts = client.hosts(arguments.get("cluster"));
  if (arguments.has("json")) {
    print_json(json::to_value(hosts));
    return kDone;
  }
  Table table({"HOST", "CLUSTER", "POOL", "PROVIDER", "ADDRESSES", "STATUS", "NODE", "WHY"});
  for (const auto& host : hosts) {
    std::string addresses;
    for (const auto& [network, address] : host.addresses) addresses += (addresses.empty() ? "" : ",") + address;
    table.add({host.name, host.cluster, host.pool, host.provider, addresses,
               host.asleep ? "asleep" : std::string(describe::spell(host.status)), short_id(host.node_id),
               host.asleep && !host.sleep.empty() ? host.sleep : host.status_description});
  }
  table.print();
  return kDone;
}

}  // namespace

const Command& host_list_command() {
  static const Command command{.name = "host list",
                               .summary = "Lists the hosts of all clusters.",
                               .flags = {{"cluster", "NAME", "Only this cluster's."}, {"json", "", "As JSON."}},
                               .run = run_host_list};
  return command;
}

}  // namespace underway::cli
