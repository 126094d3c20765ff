#include "agent/agent.hpp"

#include <cstdlib>

#include "agent/config/nomad_compat.hpp"
#include "agent/config/nomad_keys.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "cli/agent/agent_start.hpp"
#include "cli/commands.hpp"

namespace underway::cli {
namespace {

agent::Config base_config(const Arguments& arguments) {
  agent::Config config;
  config.dev = config.server.enabled = config.client.enabled = arguments.has("dev");
  return config;
}

void apply_flags(agent::Config& config, const Arguments& arguments) {
  const auto text = [&](const char* flag, std::string& target) {
    if (const auto value = arguments.find(flag)) target = *value;
  };
  text("region", config.region);
  text("network-interface", config.client.network_interface);
  text("name", config.name);
  text("datacenter", config.datacenter);
  text("data-dir", config.data_dir);
  text("bind", config.bind_addr);
  text("http", config.addresses.http);
  text("log-level", config.log_level);
  text("node-class", config.client.node_class);
  text("node-pool", config.client.node_pool);
  text("host", config.client.host);
  text("cluster", config.client.cluster);
  text("join-token-file", config.client.join_token_file);
  if (const auto mhz = arguments.number("cpu-total-compute")) config.client.cpu_total_compute = *mhz;
  if (const auto mib = arguments.number("memory-total-mb")) config.client.memory_total_mb = *mib;
  if (config.dev) config.server.enabled = config.client.enabled = true;
  // Said to be off, a role is off whatever a file says: the unit of a server has no rights for a node.
  if (arguments.find("server")) config.server.enabled = arguments.has("server");
  if (arguments.find("client")) config.client.enabled = arguments.has("client");
  if (arguments.find("acl-enabled")) config.acl.enabled = arguments.has("acl-enabled");
  if (arguments.find("hosts")) config.hosts.enabled = arguments.has("hosts");
  config.new_cluster = arguments.has("new-cluster");
  for (const auto& server : arguments.all("servers")) config.client.servers.push_back(agent::server_url(server));
  for (const auto& plugin : arguments.all("plugin"))
    config.plugins.push_back({plugin, boost::json::object{{"enabled", true}}});
  for (const auto& pair : arguments.all("meta")) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos)
      throw Error(Code::invalid, fmt::format("-meta '{}' is not of the form KEY=VALUE", pair));
    config.client.meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
}

int run_as_underway(const Arguments& arguments) { return run_agent(arguments, false); }

}  // namespace

int run_agent(const Arguments& arguments, bool as_nomad) {
  std::vector<std::string> warnings;
  auto config = agent::load(arguments.all("config"), base_config(arguments), &warnings);
  for (const auto& warning : warnings) log::warn("agent: {}", warning);
  apply_flags(config, arguments);
  config.compat_by = agent::compat_by_call(as_nomad, config.dev, std::getenv("UNDERWAY_NOMAD_COMPAT"));
  agent::run(std::move(config), arguments.all("config"));
  return kDone;
}

const Command& agent_command() {
  static const Command command{
      .name = "agent",
      .summary = "Runs the daemon, in the server role, the node role, or both.",
      .details =
          "Configuration files have Nomad's keys; flags override them. SIGTERM stops the agent and leaves its tasks "
          "running; the next agent takes them over. SIGHUP reads the log level and certificates again.",
      .examples = {"underway agent -dev", "underway agent -config /etc/underway"},
      .flags = {{"config", "PATH", "A configuration file, or a directory of *.hcl and *.json.", true},
                {"dev", "", "Both roles, in a temporary directory, raw_exec allowed; everything ends with it."},
                {"server", "", "The server role; =false takes it away, as of the next two."},
                {"client", "", "The node role."},
                {"hosts", "", "Makes the hosts of local pools (needs root)."},
                {"new-cluster", "", "Begins anew where the server's state is gone, for this start alone."},
                {"data-dir", "DIR", "Where it keeps everything."},
                {"name", "NAME", "Its name; the host's when not given."},
                {"datacenter", "NAME", "Its datacenter."},
                {"region", "NAME", "Its region."},
                {"acl-enabled", "", "Requests need a token, or with =false none."},
                {"network-interface", "NAME", "The interface whose address is the node's."},
                {"bind", "ADDRESS", "Address to listen at: HOST, HOST:PORT or [IPV6]:PORT; 127.0.0.1."},
                {"http", "ADDRESS", "Address of the HTTP API, in the same form, or `none` for the unix socket alone."},
                {"servers", "ADDRESS", "A server to link to: HOST, HOST:PORT or a URL.", true},
                {"join-token-file", "FILE", "A join token, for a node that has not joined yet."},
                {"node-pool", "NAME", "The node's pool."},
                {"node-class", "NAME", "The node's class."},
                number_flag("cpu-total-compute", "MHZ", "What the node has for allocations, when not what is found."),
                number_flag("memory-total-mb", "MIB", "The same of memory."),
                {"meta", "KEY=VALUE", "`${meta.KEY}` of the node.", true},
                {"plugin", "NAME", "Allows a driver: raw_exec.", true},
                {"host", "NAME", "The host it runs on; set by providers."},
                {"cluster", "NAME", "That host's cluster; set by providers."},
                {"log-level", "LEVEL", "trace, debug, info, warn or error."}},
      .talks_to_server = false,
      .run = run_as_underway};
  return command;
}

}  // namespace underway::cli
