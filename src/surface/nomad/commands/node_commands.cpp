// Nodes: status, eligibility, drain, config, identity, intro.
#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/find.hpp"
#include "nomad/table.hpp"
#include "nomad/text/node_status.hpp"
#include "nomad/text/rows.hpp"
#include "nomad/text/text.hpp"

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

/// Who gave the whole id, or -self, is asked nothing: that client asks about what only begins so.
bool is_meant(const std::string& given, const std::string& id, const Arguments& arguments) {
  if (given == id || arguments.has("yes") || !(arguments.has("enable") || arguments.has("disable"))) return true;
  const auto question = fmt::format("Are you sure you want to {} drain mode for node \"{}\"? [y/N]",
                                    arguments.has("disable") ? "disable" : "enable", id);
  const auto answer = ask(question, "Canceling drain toggle");
  if (answer == Answer::unclear) throw Error(Code::invalid, "nothing was changed");
  return answer == Answer::yes;
}

/// Of one node as there; of a pool, a class or a rack as ours.
int drain(const Arguments& arguments) {
  const Command& ours = cli::node_drain_command();
  const bool disable = arguments.has("disable");
  std::vector<std::string> words;
  for (const auto& flag : cli::flags_of(ours)) {
    if (flag.name == "self" || (flag.name == "m" && disable)) continue;
    for (const auto& value : arguments.all(flag.name)) words.push_back(fmt::format("-{}={}", flag.name, value));
  }
  if (disable && arguments.find("m")) words.push_back("-meta=cancel_message=" + arguments.get("m"));
  auto nodes = arguments.positional();
  if (arguments.has("self") || nodes.size() == 1) {
    Api api(arguments);
    const std::string given = arguments.has("self") ? own_node(api) : nodes.front(), id = find_node(api, given);
    if (!is_meant(given, id, arguments)) return 0;
    nodes = {id};
    words.emplace_back("-yes");
  }
  words.insert(words.end(), nodes.begin(), nodes.end());
  return ours.run(cli::parse(ours, words));
}

/// The beginning of its name is enough.
std::string find_pool(Api& api, const std::string& prefix) {
  std::vector<std::string> found;
  for (const auto& pool : cli::elements(api.get("/v1/node/pools", {{"prefix", prefix}}))) {
    if (text(pool, "Name") == prefix) return prefix;
    found.push_back(text(pool, "Name"));
  }
  if (found.empty()) throw Error(Code::not_found, fmt::format("No node pool(s) with prefix \"{}\" found", prefix));
  if (found.size() > 1)
    throw Error(Code::conflict,
                fmt::format("Prefix \"{}\" matched multiple node pools\n\n{}", prefix, join(found, "\n")));
  return found.front();
}

int pool_jobs(const Arguments& arguments) {
  Api api(arguments);
  const std::string pool = find_pool(api, arguments.positional().front());
  const Json all = api.get("/v1/node/pool/" + cli::part(pool) + "/jobs", cli::list_query_of(arguments));
  if (cli::print_formatted(arguments, all)) return 0;
  const bool everywhere = api.client().address().ns == "*";
  print(cli::elements(all).empty() ? std::string("No jobs\n") : jobs_text(cli::elements(all), everywhere));
  cli::tell_next_page(api, arguments, "nomad node pool jobs");
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
  table.back().run = drain;
  table.push_back({.name = "node config",
                   .arguments = "[<server>…]",
                   .summary = "Shows the servers that the agent knows.",
                   .flags = {{"servers", "", "Shows them."},
                             {"update-servers", "", "Refused: they are part of the agent's configuration."}},
                   .most = 1000,
                   .run = config});
  table.push_back(shared(cli::node_pool_jobs_command()));
  table.back().run = pool_jobs;
  table.push_back({.name = "node intro create",
                   .summary = "Makes a token with which one new node may join, once.",
                   .flags = cli::with_format_flags({{"node-name", "NAME", "The only name that the node may have."},
                                                    {"node-pool", "NAME", "The only pool that it may be in."},
                                                    {"ttl", "DURATION", "How long it may be used."}}),
                   .run = introduce});
}

}  // namespace underway::nomad
