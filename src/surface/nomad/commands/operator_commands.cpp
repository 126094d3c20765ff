// The operator's commands where Nomad's take more than ours, and what the agent tells of itself.
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <iostream>
#include <iterator>

#include "base/error.hpp"
#include "base/text.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/operator/commands.hpp"
#include "cli/terminal.hpp"
#include "cli/wire.hpp"
#include "nomad/program.hpp"
#include "nomad/table.hpp"
#include "nomad/text/text.hpp"
#include "os/file.hpp"
#include "snapshot/archive.hpp"

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
  for (const auto& word : given) {
    const auto colon = word.find(':');
    if (colon == std::string::npos || colon == 0)
      throw Error(Code::invalid, fmt::format("-H '{}' is no header", word)).advise("write it as 'Name: value'");
    out.add(word.substr(0, colon), std::string(trim(std::string_view(word).substr(colon + 1))));
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
  // What it answers is shown, whatever it is: `-verbose` has the status.
  print(response.body);
  return 0;
}

/// 0 when as many servers are known as the flag asks for, with `-min-peers` besides the agent itself.
bool has_servers(Api& session, const Arguments& arguments) {
  const auto known = static_cast<std::int64_t>(elements(session.get("/v1/status/peers")).size());
  for (const auto& [flag, count] : {std::pair("min-peers", known - 1), std::pair("min-servers", known)}) {
    const auto wanted = arguments.number(flag);
    if (!wanted || count >= *wanted) continue;
    cli::say(fmt::format("-{} {}: {} known", flag, *wanted, count));
    return false;
  }
  return true;
}

/// For monitoring systems: 0 when all is well, 2 when it is not or nobody can tell (Nagios plugins' exit codes).
int check(const Arguments& arguments) {
  constexpr int kWell = 0, kCritical = 2;
  try {
    Api session(arguments);
    const auto response = session.client().raw("GET", "/v1/agent/health", {}, std::chrono::seconds(10));
    if (response.status != 200) {
      cli::say("agent is not healthy: " + std::string(trim(response.body)));
      return kCritical;
    }
    if (!has_servers(session, arguments)) return kCritical;
    print("agent is healthy\n");
    return kWell;
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

std::string member_tags(const Json& member) {
  std::vector<std::string> tags;
  for (const auto& [name, value] : cli::members(member, "Tags"))
    tags.push_back(fmt::format("{}={}", std::string_view(name), std::string_view(value.as_string())));
  std::sort(tags.begin(), tags.end());
  return join(tags, ",");
}

std::string raft_of(const Json& member) {
  const std::string tag = text(member, "Tags.raft_vsn");
  return tag.empty() ? "3" : tag;
}

std::string members_text(const boost::json::array& all) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& server : all)
    rows.push_back({text(server, "Name"), text(server, "Addr"), text(server, "Port"), text(server, "Status"),
                    text(server, "Tags.Leader"), raft_of(server), text(server, "Tags.build"), text(server, "Tags.dc"),
                    text(server, "Tags.region")});
  return cli::table_text(
      {"Name", "Address", "Port", "Status", "Leader", "Raft Version", "Build", "Datacenter", "Region"}, rows);
}

std::string members_in_detail(const boost::json::array& all) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& server : all)
    rows.push_back({text(server, "Name"), text(server, "Addr"), text(server, "Port"), text(server, "Status"),
                    text(server, "Tags.Leader"), text(server, "ProtocolCur"), raft_of(server),
                    text(server, "Tags.build"), text(server, "Tags.dc"), text(server, "Tags.region"),
                    member_tags(server)});
  return cli::table_text({"Name", "Address", "Port", "Status", "Leader", "Protocol", "Raft Version", "Build",
                          "Datacenter", "Region", "Tags"},
                         rows);
}

/// Who leads is a tag of its own.
int members(const Arguments& arguments) {
  Api session(arguments);
  const Json answer = session.get("/v1/agent/members"), leader = session.get("/v1/status/leader");
  const std::string_view address = leader.is_string() ? std::string_view(leader.get_string()) : std::string_view();
  boost::json::array all = elements(answer, "Members");
  for (auto& server : all) {
    const bool leads = all.size() == 1 || address == text(server, "Addr") + ":" + text(server, "Tags.port");
    server.as_object()["Tags"].as_object()["Leader"] = leads ? "true" : "false";
  }
  if (cli::print_formatted(arguments, all)) return 0;
  const bool whole = arguments.has("detailed") || arguments.has("verbose");
  print(whole ? members_in_detail(all) : members_text(all));
  return 0;
}

/// A file of the hour, in the current directory, when none is named.
int save_snapshot(const Arguments& arguments) {
  const std::string now = cli::moment(unix_nanos(cli::current_time()));
  std::string day = now.substr(0, 10);
  std::erase(day, '-');
  const std::string file = !arguments.positional().empty()
                               ? arguments.positional().front()
                               : fmt::format("nomad-state-{}-{}.snap", day, std::time(nullptr));
  if (os::exists(file)) throw Error(Code::conflict, fmt::format("Destination file already exists: \"{}\"", file));
  cli::make_client(arguments).save_snapshot(file);
  snapshot::inspect(file);
  print(fmt::format("State file written to {}\n", file));
  return 0;
}

int inspect_snapshot(const Arguments& arguments) {
  if (arguments.has("json")) return cli::operator_snapshot_inspect_command().run(arguments);
  const auto found = snapshot::inspect(arguments.positional().front());
  print(columns_text({{"ID", found.id},
                      {"Size", std::to_string(found.size)},
                      {"Index", std::to_string(found.index)},
                      {"Term", std::to_string(found.term)},
                      {"Version", std::to_string(found.version)}}));
  return 0;
}

/// When a key is to be used is told only where one waits for it.
std::string keys_text(const boost::json::array& keys, bool verbose) {
  const bool waits =
      std::any_of(keys.begin(), keys.end(), [](const Json& key) { return cli::number(key, "PublishTime") != 0; });
  std::vector<std::string> headers{"Key", "State", "Create Time"};
  if (waits) headers.emplace_back("Publish Time");
  std::vector<std::vector<std::string>> rows;
  for (const auto& key : keys) {
    std::vector<std::string> row{cli::id_text(text(key, "KeyID"), verbose), text(key, "State"),
                                 cli::moment(cli::number(key, "CreateTime"))};
    if (waits) row.push_back(cli::moment(cli::number(key, "PublishTime")));
    rows.push_back(std::move(row));
  }
  return cli::table_text(headers, rows);
}

int list_keys(const Arguments& arguments) {
  const Json keys = cli::make_client(arguments).root_keys();
  if (!cli::print_formatted(arguments, keys)) print(keys_text(elements(keys), arguments.has("verbose")));
  return 0;
}

int rotate_key(const Arguments& arguments) {
  const bool full = arguments.has("full");
  const auto later = arguments.find("prepublish");
  if (later && full) throw Error(Code::invalid, "-prepublish and -full do not go together");
  const auto span = later ? parse_duration(*later) : std::nullopt;
  if (later && (!span || *span <= Duration{0}))
    throw Error(Code::invalid, fmt::format("-prepublish '{}' is no span of time", *later));
  auto client = cli::make_client(arguments);
  const Json key = span ? client.prepublish_root_key(cli::current_time() + *span) : client.rotate_root_key(full);
  print(keys_text({key}, arguments.has("verbose")));
  return 0;
}

int remove_key(const Arguments& arguments) {
  const std::string& id = arguments.positional().front();
  cli::make_client(arguments).remove_root_key(id, arguments.has("force"));
  print(fmt::format("Removed encryption key {}\n", id));
  return 0;
}

/// What is gathered when nothing is said, for as long as that client does.
Arguments with_defaults(const Arguments& arguments) {
  const Command& ours = cli::operator_debug_command();
  std::vector<std::string> words{"-duration=2m", "-log-level=DEBUG"};
  for (const auto& flag : cli::flags_of(ours)) {
    for (const auto& value : arguments.all(flag.name)) words.push_back(fmt::format("-{}={}", flag.name, value));
  }
  return cli::parse(ours, words);
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
  table.push_back(
      {.name = "check",
       .summary = "Exits 0 when the agent is well, and 2 when it is not: for monitoring systems.",
       .flags = {cli::number_flag("min-peers", "N", "So many servers beside this agent's must be known; there is one."),
                 cli::number_flag("min-servers", "N", "So many servers must be known; there is one.")},
       .run = check});
  table.push_back(shared(cli::operator_raft_list_peers_command(), {{"stale", "", "From any server."}}));
  table.push_back(shared(cli::operator_raft_remove_peer_command(), {{"peer-address", "ADDRESS", "Its address."}}));
  table.push_back(with_run(shared(cli::operator_root_keyring_list_command(), {kVerbose}), list_keys));
  table.push_back(
      with_run(shared(cli::operator_root_keyring_rotate_command(),
                      {kVerbose, {"now", "", "The new key is used at once, as it is without -prepublish."}}),
               rotate_key));
  table.push_back(with_run(shared(cli::operator_root_keyring_remove_command(), {kVerbose}), remove_key));
  table.push_back(with_run(cli::operator_snapshot_inspect_command(), inspect_snapshot));
  table.push_back(shared(cli::operator_autopilot_set_config_command(),
                         {{"redundancy-zone-tag", "TAG", "Refused: there are no redundancy zones."},
                          {"upgrade-version-tag", "TAG", "Refused: nothing migrates upgrades."}}));
  table.push_back(shared(cli::operator_debug_command(),
                         {{"log-include-location", "", "Without effect: lines have no places in the source."},
                          {"log-file-export", "", "Refused: the journal keeps the log: `journalctl -u underway`."},
                          {"log-lookback", "", "Refused: the journal keeps the log: `journalctl -u underway`."},
                          {"pprof-duration", "SPAN", "Without effect: there is no Go runtime to profile."},
                          {"pprof-interval", "SPAN", "Without effect: there is no Go runtime to profile."}}));
  auto& debug = table.back();
  for (const char* name : {"consul-http-addr", "consul-auth", "consul-token", "consul-token-file", "consul-client-cert",
                           "consul-client-key", "consul-ca-cert", "consul-ca-path"})
    debug.flags.push_back({name, "VALUE", "Refused: there is no Consul here."});
  for (const char* name :
       {"vault-address", "vault-token", "vault-client-cert", "vault-client-key", "vault-ca-cert", "vault-ca-path"})
    debug.flags.push_back({name, "VALUE", "Refused: there is no Vault here."});
  debug.run = [](const Arguments& arguments) { return cli::operator_debug_command().run(with_defaults(arguments)); };
  table.push_back(with_run(
      shared(cli::operator_snapshot_save_command(), {{"redact", "", "Snapshots hold no root key in clear text."}}),
      save_snapshot));
}

}  // namespace underway::nomad
