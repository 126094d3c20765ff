#include "base/error.hpp"
#include "base/json/json.hpp"
#include "cli/commands.hpp"
#include "cli/current_time.hpp"
#include "cli/impact/cluster_losses.hpp"
#include "cli/list_flags.hpp"
#include "cli/terminal.hpp"
#include "model/node/device_attribute.hpp"

namespace underway::cli {
namespace {

int list_nodes(sdk::Client& client, const Arguments& arguments) {
  const auto page = client.nodes(list_query(arguments));
  const auto& nodes = page.rows;
  tell_next_page(page.next_token);
  if (print_formatted(arguments, json::to_value(nodes))) return kDone;
  Table table({"ID", "Node Pool", "DC", "Name", "Class", "Cluster", "Eligibility", "Status"});
  for (const auto& node : nodes) {
    table.add({arguments.has("verbose") ? node.id : short_id(node.id), node.node_pool, node.datacenter, node.name,
               node.node_class.empty() ? "<none>" : node.node_class, node.cluster.empty() ? "<none>" : node.cluster,
               std::string(describe::spell(node.eligibility)), std::string(describe::spell(node.status))});
  }
  table.print();
  return kDone;
}

std::string drain_text(const model::Node& node) {
  if (!node.drain) return "false";
  std::string text = node.drain->deadline < Duration{0} ? "force drain"
                     : node.drain->force_deadline == 0
                         ? "no deadline"
                         : "deadline " + format_time(from_unix_nanos(node.drain->force_deadline));
  if (node.drain->ignore_system_jobs) text += "; ignore system jobs";
  if (node.slurm_drain && !node.slurm_drain->description.empty()) text += "; " + node.slurm_drain->description;
  return "true; " + text;
}

void print_devices(const model::Node& node) {
  if (node.resources.devices.empty()) return;
  print("\nDevices\n");
  Table table({"Device", "ID", "NUMA Node", "Health", "Attributes"});
  for (const auto& group : node.resources.devices) {
    std::string attributes;
    for (const auto& [name, value] : group.attributes)
      attributes += fmt::format("{}{} = {}", attributes.empty() ? "" : ", ", name, model::to_text(value));
    for (const auto& device : group.instances)
      table.add({group.id(), device.id, device.numa_node < 0 ? "<none>" : std::to_string(device.numa_node),
                 device.healthy ? "healthy" : "unhealthy: " + device.health_description, attributes});
  }
  table.print();
}

/// The newest first.
void print_events(const model::Node& node) {
  if (node.events.empty()) return;
  print("\nEvents\n");
  Table table({"Time", "Subsystem", "Message"});
  for (auto it = node.events.rbegin(); it != node.events.rend(); ++it)
    table.add({ago(it->timestamp), it->subsystem, it->message});
  table.print();
}

std::string volumes_text(const model::Node& node) {
  std::string text;
  for (const auto& [name, volume] : node.volumes)
    text += (text.empty() ? "" : ",") + name + (volume.read_only ? " (read-only)" : "");
  return text.empty() ? "<none>" : text;
}

int show_node(sdk::Client& client, const std::string& id, const Arguments& arguments) {
  const auto node = client.node(id);
  if (print_formatted(arguments, json::to_value(node))) return kDone;
  std::string drivers;
  for (const auto& [name, driver] : node.drivers)
    drivers +=
        (drivers.empty() ? "" : ",") + name + (driver.healthy ? "" : " (unhealthy: " + driver.health_description + ")");
  print(key_values({{"ID", node.id},
                    {"Name", node.name},
                    {"Node Pool", node.node_pool},
                    {"Class", node.node_class.empty() ? "<none>" : node.node_class},
                    {"DC", node.datacenter},
                    {"Cluster", node.cluster.empty() ? "<none>" : node.cluster},
                    {"Eligibility", std::string(describe::spell(node.eligibility))},
                    {"Drain", drain_text(node)},
                    {"Status", std::string(describe::spell(node.status)) +
                                   (node.status_description.empty() ? "" : ": " + node.status_description)},
                    {"Driver Status", drivers},
                    {"Host Volumes", volumes_text(node)},
                    {"CPU", fmt::format("{} MHz", node.resources.cpu)},
                    {"Memory", fmt::format("{} MiB", node.resources.memory_mb)}}));
  print_devices(node);
  print_events(node);
  if (arguments.has("verbose")) {
    print("\nAttributes\n");
    std::vector<std::pair<std::string, std::string>> attributes(node.attributes.begin(), node.attributes.end());
    print(key_values(attributes));
  }
  print("\nAllocations\n");
  Table table({"ID", "Job", "Task Group", "Desired", "Status", "Created"});
  for (const auto& a : client.node_allocations(id)) {
    table.add({short_id(a.id), a.job_id, a.group, std::string(describe::spell(a.desired_status)),
               std::string(describe::spell(a.client_status)), ago(a.create_time)});
  }
  table.print();
  return kDone;
}

int status_node(const Arguments& arguments) {
  auto client = make_client(arguments);
  return arguments.positional().empty()
             ? list_nodes(client, arguments)
             : show_node(client, resolve_node(client, arguments.positional().front()), arguments);
}

int eligibility(const Arguments& arguments) {
  const bool enable = arguments.has("enable");
  if (enable == arguments.has("disable")) throw Error(Code::invalid, "either -enable or -disable must be given");
  auto client = make_client(arguments);
  const std::string id = resolve_node(client, arguments.positional().front());
  client.set_eligibility(id, enable ? model::Eligibility::eligible : model::Eligibility::ineligible);
  print(fmt::format("Node \"{}\" scheduling eligibility set: {}\n", id,
                    enable ? "eligible for scheduling" : "ineligible for scheduling"));
  return kDone;
}

int purge_node(const Arguments& arguments) {
  auto client = make_client(arguments);
  const std::string id = resolve_node(client, arguments.positional().front());
  if (!arguments.has(kYes.name)) {
    const auto node = client.node(id);
    const auto facts = ask_facts(client, node.cluster);
    if (const auto agreed =
            ask_before({.deed = fmt::format("this forgets node '{}' and what is known of it", node.name),
                        .word = node.name,
                        .lost = losses_of_node(facts, node, current_time())},
                       arguments);
        agreed != kDone)
      return agreed;
  }
  client.purge_node(id);
  print(fmt::format("Node \"{}\" is forgotten\n", short_id(id)));
  return kDone;
}

}  // namespace

const Command& node_status_command() {
  static const Command command{
      .name = "node status",
      .arguments = "[ID|NAME]",
      .summary = "Lists nodes, or shows one with its allocations.",
      .examples = {"underway node status -filter 'Attributes[\"kernel.name\"] == linux and Status == ready'"},
      .flags = with_list_flags({{"verbose", "", "Whole ids; of one node its attributes too."}}),
      .least = 0,
      .most = 1,
      .run = status_node};
  return command;
}

const Command& node_eligibility_command() {
  static const Command command{
      .name = "node eligibility",
      .arguments = "ID|NAME",
      .summary = "Whether new allocations may come to a node.",
      .flags = {{"enable", "", "They may."}, {"disable", "", "They may not; what runs goes on."}},
      .least = 1,
      .most = 1,
      .run = eligibility};
  return command;
}

const Command& node_purge_command() {
  static const Command command{.name = "node purge",
                               .arguments = "ID|NAME",
                               .summary = "Forgets a node that is not heard of.",
                               .details =
                                   "If Slurm jobs run on it, or it has what a capsule wrote, it wants the node's "
                                   "name typed, or -yes.",
                               .flags = {kYes},
                               .least = 1,
                               .most = 1,
                               .run = purge_node};
  return command;
}

}  // namespace underway::cli
