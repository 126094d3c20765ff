// Nodes: status, eligibility, drain, config, identity, intro.
#include "base/error.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/find.hpp"
#include "nomad/node_status.hpp"
#include "nomad/table.hpp"

namespace underway::nomad {
namespace {

using boost::json::object;
using cli::Api;
using cli::Json;
using cli::print;
using cli::text;

int eligibility(const Arguments& arguments) {
  const bool enable = arguments.has("enable");
  if (enable == arguments.has("disable"))
    throw Error(Code::invalid, "Either the '-enable' or '-disable' flag must be set");
  Api api(arguments);
  if (arguments.positional().empty() && !arguments.has("self"))
    throw Error(Code::invalid, "Node ID must be specified if -self isn't being used");
  const std::string id = arguments.has("self") ? own_node(api) : find_node(api, arguments.positional().front());
  api.client().set_eligibility(id, enable ? model::Eligibility::eligible : model::Eligibility::ineligible);
  print(fmt::format("Node \"{}\" scheduling eligibility set: {}\n", id,
                    enable ? "eligible for scheduling" : "ineligible for scheduling"));
  return 0;
}

int config(const Arguments& arguments) {
  if (arguments.has("update-servers"))
    throw Error(Code::invalid, "the servers of a node are part of its configuration")
        .advise("set client.servers in the agent's file, and restart the agent: its tasks go on");
  if (!arguments.has("servers")) throw Error(Code::invalid, "The -servers or -update-servers flag must be set");
  Api api(arguments);
  for (const auto& server : cli::elements(api.get("/v1/agent/servers")))
    print(std::string(std::string_view(server.as_string())) + "\n");
  return 0;
}

/// A join token, as Nomad's nodes are introduced.
int introduce(const Arguments& arguments) {
  Api api(arguments);
  object body;
  if (const auto ttl = arguments.find("ttl")) body["TTL"] = *ttl;
  if (const auto name = arguments.find("node-name")) body["NodeName"] = *name;
  if (const auto pool = arguments.find("node-pool")) body["NodePool"] = *pool;
  const Json answer = api.put("/v1/acl/identity/client-introduction-token", body);
  if (cli::print_formatted(arguments, answer)) return 0;
  print("Successfully generated client introduction token:\n\n" + text(answer, "JWT") + "\n");
  return 0;
}

}  // namespace

void add_node_commands(Table& table) {
  table.push_back({.name = "node status",
                   .arguments = "[<node>]",
                   .summary = "Lists nodes, or shows one with its allocations.",
                   .flags = cli::with_list_flags({{"self", "", "The node of this machine."},
                                                  {"stats", "", "Of one node: what each processor and disk does."},
                                                  {"allocs", "", "Of the list: how many allocations run."},
                                                  {"short", "", "Of one node: only what it is, and its allocations."},
                                                  kVerbose,
                                                  {"os", "", "Of the list: the operating system."},
                                                  {"quiet", "", "Of the list: ids alone."},
                                                  kUi}),
                   .most = 1,
                   .run = node_status});
  auto setting = shared(cli::node_eligibility_command(),
                        {{"self", "", "The node of this machine."}, {"yes", "", "Nothing is asked anyway."}});
  setting.least = 0;
  setting.run = eligibility;
  table.push_back(std::move(setting));
  table.push_back(shared(cli::node_drain_command()));
  table.push_back({.name = "node config",
                   .arguments = "[<server>…]",
                   .summary = "Shows the servers that the agent knows.",
                   .flags = {{"servers", "", "Shows them."},
                             {"update-servers", "", "Refused: they are part of the agent's configuration."}},
                   .most = 1000,
                   .run = config});
  table.push_back({.name = "node intro create",
                   .summary = "Makes a token with which one new node may join, once.",
                   .flags = cli::with_format_flags({{"node-name", "NAME", "The only name that the node may have."},
                                                    {"node-pool", "NAME", "The only pool that it may be in."},
                                                    {"ttl", "DURATION", "How long it may be used."}}),
                   .run = introduce});
}

}  // namespace underway::nomad
