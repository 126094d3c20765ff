// Metadata of a node that change while it runs: read, apply.
#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"

namespace underway::cli {
namespace {

std::string node_asked_for(sdk::Client& client, const Arguments& arguments) {
  return resolve_node(client, arguments.get("node-id"));
}

int read(const Arguments& arguments) {
  auto client = make_client(arguments);
  const auto metadata = client.node_metadata(node_asked_for(client, arguments));
  if (print_formatted(arguments, json::to_value(metadata))) return kDone;
  print("All Meta\n");
  print(key_values({metadata.meta.begin(), metadata.meta.end()}));
  print("\nDynamic Meta\n");
  std::vector<std::pair<std::string, std::string>> dynamic;
  for (const auto& [key, value] : metadata.dynamic) dynamic.emplace_back(key, value.value_or("<unset>"));
  print(key_values(dynamic));
  print("\nStatic Meta\n");
  print(key_values({metadata.fixed.begin(), metadata.fixed.end()}));
  return kDone;
}

int apply_node_meta(const Arguments& arguments) {
  protocol::MetadataRequest request;
  for (const auto& key : arguments.all("unset")) request.meta[key] = std::nullopt;
  for (const auto& pair : arguments.positional()) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) throw Error(Code::invalid, fmt::format("'{}' is not of the form KEY=VALUE", pair));
    request.meta[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  if (request.meta.empty()) throw Error(Code::invalid, "neither KEY=VALUE nor -unset KEY is given");
  auto client = make_client(arguments);
  client.apply_node_metadata(node_asked_for(client, arguments), request);
  return kDone;
}

}  // namespace

const Command& node_meta_read_command() {
  static const Command command{.name = "node meta read",
                               .summary = "Shows a node's metadata, and where each comes from.",
                               .flags = with_format_flags({{"node-id", "ID|NAME", "The node."}}),
                               .run = read};
  return command;
}

const Command& node_meta_apply_command() {
  static const Command command{
      .name = "node meta apply",
      .arguments = "KEY=VALUE…",
      .summary = "Changes a node's metadata while it runs.",
      .details =
          "What is set here counts over the agent's configuration, also after the agent is started again. Placement "
          "goes "
          "by it at once; what runs is left alone.",
      .examples = {"underway node meta apply -node-id c1 rack=r7", "underway node meta apply -node-id c1 -unset rack"},
      .flags = {{"node-id", "ID|NAME", "The node."}, {"unset", "KEY", "Takes the key away.", true}},
      .least = 0,
      .most = 1000,
      .run = apply_node_meta};
  return command;
}

}  // namespace underway::cli
