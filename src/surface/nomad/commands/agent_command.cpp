#include "nomad/commands/agent_command.hpp"

#include "agent/config/nomad_keys.hpp"
#include "base/error.hpp"
#include "cli/agent/agent_start.hpp"
#include "cli/commands.hpp"
#include "cli/terminal.hpp"
#include "nomad/table.hpp"

namespace underway::nomad {
namespace {

/// Nomad's names for flags of ours.
constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"node", "name"}, {"dc", "datacenter"}};

/// Taken, so that a unit file can stay as it is.
const std::vector<Flag>& without_effect() {
  static const std::vector<Flag> flags = {
      {"alloc-dir", "DIR", "Without effect: its place is in -data-dir."},
      cli::number_flag("bootstrap-expect", "N", "1: there is one server. More is refused."),
      {"eventlog", "", "Without effect: that is Windows'."},
      {"eventlog-level", "LEVEL", "Without effect: that is Windows'."},
      {"log-include-location", "", "Without effect: lines have no places in the source."},
      {"log-json", "", "Without effect: the journal keeps the log."},
      cli::number_flag("network-speed", "MBITS", "Without effect: what a network carries is not counted."),
      {"plugin-dir", "DIR", "Without effect: drivers are built in."},
      cli::number_flag("raft-protocol", "N", "Without effect: servers speak a protocol of their own."),
      {"rejoin", "", "Without effect: there is one server."},
      {"retry-interval", "SPAN", "Without effect: a node dials until it is answered."},
      cli::number_flag("retry-max", "N", "Without effect: a node dials until it is answered."),
      {"state-dir", "DIR", "Without effect: its place is in -data-dir."}};
  return flags;
}

const std::vector<Flag>& refused_flags() {
  static const std::vector<Flag> flags = [] {
    std::vector<Flag> out = {
        {"acl-replication-token", "TOKEN", "Refused: there is one region."},
        {"client-intro-token", "TOKEN", "Refused: others see what is typed; use -join-token-file."},
        {"dev-connect", "", "Refused: there is no Consul mesh here."},
        {"dev-consul", "", "Refused: there is no Consul here."},
        {"dev-vault", "", "Refused: there is no Vault here."},
        {"encrypt", "KEY", "Refused: there is no gossip; links are mutual TLS, always."},
        {"join", "ADDRESS", "Refused: servers meet in the store, they do not join each other."}};
    for (const char* name : {"consul-address",
                             "consul-allow-unauthenticated",
                             "consul-auth",
                             "consul-auto-advertise",
                             "consul-ca-file",
                             "consul-cert-file",
                             "consul-checks-use-advertise",
                             "consul-client-auto-join",
                             "consul-client-service-name",
                             "consul-client-http-check-name",
                             "consul-client-failures-before-critical",
                             "consul-client-failures-before-warning",
                             "consul-key-file",
                             "consul-server-service-name",
                             "consul-server-http-check-name",
                             "consul-server-serf-check-name",
                             "consul-server-rpc-check-name",
                             "consul-server-auto-join",
                             "consul-server-failures-before-critical",
                             "consul-server-failures-before-warning",
                             "consul-ssl",
                             "consul-token",
                             "consul-verify-ssl"})
      out.push_back({name, "VALUE", "Refused: there is no Consul here; services are in the built-in catalogue."});
    for (const char* name : {"vault-enabled", "vault-address", "vault-token", "vault-namespace",
                             "vault-allow-unauthenticated", "vault-create-from-role", "vault-ca-file", "vault-ca-path",
                             "vault-cert-file", "vault-key-file", "vault-tls-skip-verify", "vault-tls-server-name"})
      out.push_back({name, "VALUE", "Refused: there is no Vault here; secrets are in variables."});
    return out;
  }();
  return flags;
}

std::vector<std::string> words_of(const Arguments& arguments, const Command& ours) {
  std::vector<std::string> words;
  for (const auto& flag : ours.flags) {
    for (const auto& value : arguments.all(flag.name)) words.push_back(fmt::format("-{}={}", flag.name, value));
  }
  for (const auto& server : arguments.all("retry-join")) {
    if (agent::asks_a_cloud(server))
      throw Error(Code::invalid, fmt::format("-retry-join '{}' is no address", server))
          .because("no cloud is asked for servers")
          .advise("name them: -servers=HOST");
    if (arguments.has("server"))
      cli::say(fmt::format("warning: -retry-join {}: there is one server", server));
    else
      words.push_back(fmt::format("-servers={}", server));
  }
  for (const auto& [nomads, name] : kNames) {
    if (const auto value = arguments.find(nomads)) words.push_back(fmt::format("-{}={}", name, *value));
  }
  return words;
}

int run_agent(const Arguments& arguments) {
  if (const auto servers = arguments.number("bootstrap-expect"); servers && *servers > 1) {
    throw Error(Code::invalid, fmt::format("-bootstrap-expect {} is more than 1", *servers))
        .because("this server would not wait for others: it is the only one");
  }
  const Command& ours = cli::agent_command();
  return cli::run_agent(cli::parse(ours, words_of(arguments, ours)), true);
}

}  // namespace

Command agent_command() {
  Command command = shared(cli::agent_command(), {{"node", "NAME", "Its name; the host's when not given."},
                                                  {"dc", "NAME", "Its datacenter."},
                                                  {"retry-join", "ADDRESS", "Of a node: a server to link to.", true}});
  command.flags.insert(command.flags.end(), without_effect().begin(), without_effect().end());
  command.flags.insert(command.flags.end(), refused_flags().begin(), refused_flags().end());
  command.run = run_agent;
  return command;
}

}  // namespace underway::nomad
