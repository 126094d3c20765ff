// What Nomad's operators ask of its servers. There is one here; what there is no part for the server refuses by name.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/acl/login_commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "http/plain_error.hpp"
#include "model/scheduler_configuration.hpp"

namespace underway::cli {
namespace {

using Autopilot = model::AutopilotConfiguration;

constexpr const char* kAutopilot = "/v1/operator/autopilot/configuration";

std::string text_of(const boost::json::value& value) {
  if (value.is_string()) return std::string(value.as_string());
  return value.is_bool() ? fmt::format("{}", value.as_bool()) : boost::json::serialize(value);
}

int list_peers(const Arguments& arguments) {
  auto client = make_client(arguments);
  Table table({"Node", "ID", "Address", "State", "Voter", "RaftProtocol"});
  const auto answer = ask(client, "GET", "/v1/operator/raft/configuration");
  for (const auto& server : answer.at("Servers").as_array()) {
    table.add({text_of(server.at("Node")), text_of(server.at("ID")), text_of(server.at("Address")),
               server.at("Leader").as_bool() ? "leader" : "follower", text_of(server.at("Voter")),
               text_of(server.at("RaftProtocol"))});
  }
  table.print();
  return kDone;
}

int remove_peer(const Arguments& arguments) {
  auto client = make_client(arguments);
  ask(client, "DELETE", "/v1/operator/raft/peer?id=" + http::percent_encode(arguments.get("peer-id")));
  return kDone;
}

int transfer(const Arguments& arguments) {
  auto client = make_client(arguments);
  ask(client, "PUT", "/v1/operator/raft/transfer-leadership");
  return kDone;
}

int get_autopilot(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto answer = ask(client, "GET", kAutopilot);
  if (print_formatted(arguments, answer)) return kDone;
  const auto found = json::decode<Autopilot>(answer, "answer");
  print(key_values({{"CleanupDeadServers", fmt::format("{}", found.cleanup_dead_servers)},
                    {"LastContactThreshold", format_duration(found.last_contact_threshold)},
                    {"MaxTrailingLogs", std::to_string(found.max_trailing_logs)},
                    {"MinQuorum", std::to_string(found.min_quorum)},
                    {"ServerStabilizationTime", format_duration(found.server_stabilization_time)},
                    {"EnableRedundancyZones", fmt::format("{}", found.enable_redundancy_zones)},
                    {"DisableUpgradeMigration", fmt::format("{}", found.disable_upgrade_migration)},
                    {"EnableCustomUpgrades", fmt::format("{}", found.enable_custom_upgrades)}}));
  return kDone;
}

int set_autopilot(const Arguments& arguments) {
  auto client = make_client(arguments);
  auto body = ask(client, "GET", kAutopilot).as_object();
  const auto index = body.at("ModifyIndex").to_number<std::int64_t>();
  for (const auto& [flag, member] : {std::pair("cleanup-dead-servers", "CleanupDeadServers"),
                                     std::pair("enable-redundancy-zones", "EnableRedundancyZones"),
                                     std::pair("disable-upgrade-migration", "DisableUpgradeMigration"),
                                     std::pair("enable-custom-upgrades", "EnableCustomUpgrades")}) {
    if (const auto value = arguments.find(flag)) body[member] = json::parse(*value);
  }
  for (const auto& [flag, member] :
       {std::pair("max-trailing-logs", "MaxTrailingLogs"), std::pair("min-quorum", "MinQuorum")}) {
    if (const auto value = arguments.number(flag)) body[member] = *value;
  }
  for (const auto& [flag, member] : {std::pair("last-contact-threshold", "LastContactThreshold"),
                                     std::pair("server-stabilization-time", "ServerStabilizationTime")}) {
    if (const auto value = arguments.find(flag)) body[member] = *value;
  }
  if (!ask(client, "PUT", fmt::format("{}?cas={}", kAutopilot, index), body).as_bool()) {
    say("Autopilot configuration could not be atomically updated, please try again");
    return kFailed;
  }
  print("Configuration updated!\n");
  return kDone;
}

int health(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto response = client.raw("GET", "/v1/operator/autopilot/health");
  if (response.status != 200 && response.status != 429) throw http::parse_plain_error(response.status, response.body);
  const auto answer = json::parse(response.body);
  if (print_formatted(arguments, answer)) return kDone;
  print(key_values({{"Healthy", text_of(answer.at("Healthy"))},
                    {"FailureTolerance", text_of(answer.at("FailureTolerance"))},
                    {"Leader", text_of(answer.at("Leader"))}}));
  print("\n");
  Table table(
      {"ID", "Name", "Address", "SerfStatus", "Version", "Leader", "Voter", "Healthy", "LastIndex", "StableSince"});
  for (const auto& server : answer.at("Servers").as_array()) {
    std::vector<std::string> row;
    for (const char* name :
         {"ID", "Name", "Address", "SerfStatus", "Version", "Leader", "Voter", "Healthy", "LastIndex", "StableSince"})
      row.push_back(text_of(server.at(name)));
    table.add(std::move(row));
  }
  table.print();
  return kDone;
}

}  // namespace

const Command& operator_raft_list_peers_command() {
  static const Command command{.name = "operator raft list-peers", .summary = "Lists the servers.", .run = list_peers};
  return command;
}

const Command& operator_raft_remove_peer_command() {
  static const Command command{.name = "operator raft remove-peer",
                               .summary = "Refused: there is one server, and no Raft.",
                               .flags = {{"peer-id", "ID", "A server."}},
                               .run = remove_peer};
  return command;
}

const Command& operator_raft_transfer_leadership_command() {
  static const Command command{.name = "operator raft transfer-leadership",
                               .summary = "Refused: there is one server, and no Raft.",
                               .flags = {{"peer-id", "ID", "A server."}, {"peer-address", "ADDR", "Its address."}},
                               .run = transfer};
  return command;
}

const Command& operator_autopilot_get_config_command() {
  static const Command command{.name = "operator autopilot get-config",
                               .summary = "Shows what is kept of autopilot for Nomad's clients.",
                               .flags = with_format_flags(),
                               .run = get_autopilot};
  return command;
}

const Command& operator_autopilot_set_config_command() {
  static const Command command{.name = "operator autopilot set-config",
                               .summary = "Keeps it; with one server nothing acts on it.",
                               .flags = {{"cleanup-dead-servers", "true|false", "As in Nomad."},
                                         {"last-contact-threshold", "DURATION", "As in Nomad."},
                                         number_flag("max-trailing-logs", "NUMBER", "As in Nomad."),
                                         number_flag("min-quorum", "NUMBER", "As in Nomad."),
                                         {"server-stabilization-time", "DURATION", "As in Nomad."},
                                         {"enable-redundancy-zones", "true|false", "As in Nomad."},
                                         {"disable-upgrade-migration", "true|false", "As in Nomad."},
                                         {"enable-custom-upgrades", "true|false", "As in Nomad."}},
                               .run = set_autopilot};
  return command;
}

const Command& operator_autopilot_health_command() {
  static const Command command{.name = "operator autopilot health",
                               .summary = "Tells whether the server is well.",
                               .flags = with_format_flags(),
                               .run = health};
  return command;
}

}  // namespace underway::cli
