// The operator's commands where Nomad's take more than ours, and what the agent tells of itself.
#include <unistd.h>

#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/login_commands.hpp"
#include "cli/operator_commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "nomad/table.hpp"

namespace underway::nomad {
namespace {

using cli::Api;
using cli::elements;
using cli::Json;
using cli::print;
using cli::text;

/// A path, or a whole URL of which the path counts.
std::string target_of(const Arguments& arguments) {
  std::string target = arguments.positional().front();
  if (const auto scheme = target.find("://"); scheme != std::string::npos) {
    const auto path = target.find('/', scheme + 3);
    target = path == std::string::npos ? "/" : target.substr(path);
  }
  if (!target.starts_with('/')) target = "/" + target;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    target +=
        fmt::format("{}{}={}", target.find('?') == std::string::npos ? '?' : '&', name, http::percent_encode(value));
  };
  add("filter", arguments.get("filter"));
  add("namespace", arguments.get("namespace"));
  add("region", arguments.get("region"));
  return target;
}

std::string curl_text(const std::string& method, const std::string& url, const std::vector<std::string>& headers,
                      bool has_token, bool has_body) {
  std::string out = fmt::format("curl \\\n  -X {} \\\n", method);
  for (const auto& header : headers) out += fmt::format("  -H '{}' \\\n", header);
  if (has_token) out += "  -H \"X-Nomad-Token: ${NOMAD_TOKEN}\" \\\n";
  if (has_body) out += "  --data-binary @- \\\n";
  return out + fmt::format("  '{}'\n", url);
}

/// "Name: value" each, as curl(1) takes them.
http::Headers headers_of(const std::vector<std::string>& given) {
  http::Headers out;
  for (const auto& one : given) {
    const auto colon = one.find(':');
    if (colon == std::string::npos || colon == 0)
      throw Error(Code::invalid, fmt::format("-H '{}' is no header", one)).advise("write it as 'Name: value'");
    out.add(one.substr(0, colon), std::string(trim(std::string_view(one).substr(colon + 1))));
  }
  return out;
}

/// What is piped in is the body; a terminal and an empty pipe are none.
std::string piped_body() {
  if (cli::is_terminal(0)) return {};
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

int api(const Arguments& arguments) {
  Api session(arguments);
  const auto headers = arguments.all("H");
  const std::string target = target_of(arguments);
  const bool dry = arguments.has("dryrun");
  const std::string asked = arguments.get("X");
  // GET and DELETE have no body: then nothing is waited for on standard input.
  const std::string body = asked == "GET" || asked == "DELETE" ? std::string() : piped_body();
  const std::string method = !asked.empty() ? upper(asked) : body.empty() ? "GET" : "POST";
  const auto& address = session.client().address();
  if (dry) {
    print(curl_text(method, address.url + target, headers, !address.token.empty(), !body.empty()));
    return 0;
  }
  if (arguments.has("verbose"))
    cli::say(fmt::format("> {} {}{}\n* Sending request and receiving response...", method, address.url, target));
  const auto response = session.client().raw(method, target, body, std::chrono::minutes(6), headers_of(headers));
  if (arguments.has("verbose")) {
    cli::say(fmt::format("< HTTP/1.1 {} {}", response.status, http::reason_phrase(response.status)));
    for (const auto& [name, value] : response.headers.fields()) cli::say(fmt::format("< {}: {}", name, value));
  }
  print(response.body);
  return response.status < 400 ? 0 : 1;
}

/// For monitoring systems: 0 when all is well, 2 when it is not or nobody can tell (Nagios plugins' exit codes).
int check(const Arguments& arguments) {
  constexpr int kWell = 0, kCritical = 2;
  try {
    Api session(arguments);
    const auto response = session.client().raw("GET", "/v1/agent/health", {}, std::chrono::seconds(10));
    if (response.status == 200) {
      print("agent is healthy\n");
      return kWell;
    }
    cli::say("agent is not healthy: " + std::string(trim(response.body)));
  } catch (const Error& error) {
    cli::say("unable to query agent info: " + error.one_line());
  }
  return kCritical;
}

/// Sections of numbers, as "stats" holds them.
int agent_info(const Arguments& arguments) {
  Api session(arguments);
  const Json self = session.get("/v1/agent/self");
  if (cli::print_formatted(arguments, self)) return 0;
  for (const auto& [section, values] : cli::members(self, "stats")) {
    print(std::string(std::string_view(section)) + "\n");
    if (!values.is_object()) continue;
    for (const auto& [name, value] : values.get_object())
      print(fmt::format(
          "  {} = {}\n", std::string_view(name),
          value.is_string() ? std::string(std::string_view(value.get_string())) : boost::json::serialize(value)));
  }
  return 0;
}

int members(const Arguments& arguments) {
  Api session(arguments);
  const Json answer = session.get("/v1/agent/members");
  const Json all = cli::member(answer, "Members");
  if (cli::print_formatted(arguments, all)) return 0;
  const Json leader = session.get("/v1/status/leader");
  const std::string_view address = leader.is_string() ? std::string_view(leader.get_string()) : std::string_view();
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : elements(all)) {
    const std::string port = text(one, "Tags.port");
    const bool leads = elements(all).size() == 1 || address == text(one, "Addr") + ":" + port;
    if (arguments.has("detailed")) {
      std::vector<std::string> tags;
      for (const auto& [name, value] : cli::members(one, "Tags"))
        tags.push_back(fmt::format("{}={}", std::string_view(name), std::string_view(value.as_string())));
      rows.push_back({text(one, "Name"), text(one, "Addr"), text(one, "Port"), join(tags, ",")});
      continue;
    }
    rows.push_back({text(one, "Name"), text(one, "Addr"), text(one, "Port"), text(one, "Status"),
                    leads ? "true" : "false", text(one, "Tags.raft_vsn").empty() ? "3" : text(one, "Tags.raft_vsn"),
                    text(one, "Tags.build"), text(one, "Tags.dc"), text(one, "Tags.region")});
  }
  print(arguments.has("detailed") ? cli::table_text({"Name", "Address", "Port", "Tags"}, rows)
                                  : cli::table_text({"Name", "Address", "Port", "Status", "Leader", "Raft Version",
                                                     "Build", "Datacenter", "Region"},
                                                    rows));
  return 0;
}

Command with_run(Command command, int (*run_it)(const Arguments&)) {
  command.run = run_it;
  return command;
}

}  // namespace

void add_operator_commands(Table& table) {
  table.push_back(
      with_run(shared(cli::operator_api_command(), {{"dryrun", "", "Prints a curl command instead."},
                                                    {"filter", "EXPRESSION", "Only what the expression wants."},
                                                    {"H", "HEADER", "Sent as well: 'Name: value'.", true},
                                                    {"verbose", "", "What goes over the wire, on standard error."}}),
               api));
  table.push_back(with_run(shared(cli::agent_info_command(), cli::with_format_flags()), agent_info));
  table.push_back(with_run(
      shared(cli::server_members_command(), cli::with_format_flags({{"detailed", "", "All tags."}, kVerbose, kUi})),
      members));
  table.push_back({.name = "check",
                   .summary = "Exits 0 when the agent is well, and 2 when it is not: for monitoring systems.",
                   .flags = {{"min-peers", "N", "Without effect: there is one server."},
                             {"min-servers", "N", "Without effect: there is one server."}},
                   .run = check});
  table.push_back(shared(cli::operator_raft_list_peers_command(), {{"stale", "", "From any server."}}));
  table.push_back(shared(cli::operator_root_keyring_list_command(), {kVerbose}));
  table.push_back(shared(cli::operator_root_keyring_rotate_command(),
                         {kVerbose, {"now", "", "The new key is used at once, as it is without -prepublish."}}));
  table.push_back(shared(cli::operator_root_keyring_remove_command()));
  table.push_back(shared(cli::operator_autopilot_set_config_command(),
                         {{"redundancy-zone-tag", "TAG", "Refused: there are no redundancy zones."},
                          {"upgrade-version-tag", "TAG", "Refused: nothing migrates upgrades."}}));
  table.push_back(shared(cli::operator_debug_command(),
                         {{"event-topic", "TOPIC", "Refused: `nomad operator api /v1/event/stream` has the events."},
                          {"log-include-location", "", "Lines have no places in the source."},
                          {"log-file-export", "", "Refused: the journal keeps the log: `journalctl -u underway`."},
                          {"log-lookback", "", "Refused: the journal keeps the log: `journalctl -u underway`."},
                          {"pprof-duration", "SPAN", "Without effect: there is no Go runtime to profile."},
                          {"pprof-interval", "SPAN", "Without effect: there is no Go runtime to profile."}}));
  auto& debug = table.back();
  for (const char* name : {"consul-http-addr", "consul-token", "consul-token-file", "consul-client-cert",
                           "consul-client-key", "consul-ca-cert", "consul-ca-path"})
    debug.flags.push_back({name, "VALUE", "Refused: there is no Consul here."});
  for (const char* name :
       {"vault-address", "vault-token", "vault-client-cert", "vault-client-key", "vault-ca-cert", "vault-ca-path"})
    debug.flags.push_back({name, "VALUE", "Refused: there is no Vault here."});
  table.push_back(
      shared(cli::operator_snapshot_save_command(), {{"redact", "", "Snapshots hold no root key in clear text."}}));
}

}  // namespace underway::nomad
