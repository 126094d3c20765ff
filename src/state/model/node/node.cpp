#include "model/node/node.hpp"

#include "base/json/json.hpp"

#include <array>

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<NodeStatus>) {
  static const Enumeration e = describe::enumeration<NodeStatus>("node status");
  return e;
}
const Enumeration& description(Tag<Eligibility>) {
  static const Enumeration e = describe::enumeration<Eligibility>("eligibility");
  return e;
}

const Structure& description(Tag<DriverInfo>) {
  static const Structure s = Builder<DriverInfo>("driver", "A driver as the node found it.")
                                 .wire<&DriverInfo::detected>("Detected", "Whether it is there.")
                                 .wire<&DriverInfo::healthy>("Healthy", "Whether it works.")
                                 .wire<&DriverInfo::health_description>("HealthDescription", "Why not.")
                                 .wire<&DriverInfo::attributes>("Attributes", "What it told of itself.")
                                 .wire<&DriverInfo::updated_at>("UpdateTime", "Since when it is as it is.")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<NodeNetwork>) {
  static const Structure s = Builder<NodeNetwork>("network", "An address of the node.")
                                 .wire<&NodeNetwork::name>("Name", "Its name for `host_network`.")
                                 .wire<&NodeNetwork::device>("Device", "The interface.")
                                 .wire<&NodeNetwork::ip>("IP", "The address.")
                                 .wire<&NodeNetwork::cidr>("CIDR", "The network.")
                                 .done();
  return s;
}

const Structure& description(Tag<NodeResources>) {
  static const Structure s = Builder<NodeResources>("resources", "What a node has, or keeps back.")
                                 .wire<&NodeResources::cpu>("Cpu.CpuShares", "MHz.")
                                 .wire<&NodeResources::cores>("Cpu.TotalCpuCores", "Cores.")
                                 .wire<&NodeResources::reservable_cores>("Cpu.ReservableCpuCores", "By id.")
                                 .wire<&NodeResources::memory_mb>("Memory.MemoryMB", "MiB.")
                                 .wire<&NodeResources::disk_mb>("Disk.DiskMB", "MiB.")
                                 .wire<&NodeResources::ports>("Ports", "Ports kept back.")
                                 .wire<&NodeResources::devices>("Devices", "Devices, by model.")
                                 .wire<&NodeResources::topology>("Processors.Topology", "Where cores lie.")
                                 .wire<&NodeResources::min_dynamic_port>("MinDynamicPort", "First port to give out.")
                                 .wire<&NodeResources::max_dynamic_port>("MaxDynamicPort", "Last port to give out.")
                                 .done();
  return s;
}

const Enumeration& description(Tag<DrainStatus>) {
  static const Enumeration e = describe::enumeration<DrainStatus>("drain status");
  return e;
}

const Structure& description(Tag<DrainStrategy>) {
  static const Structure s =
      Builder<DrainStrategy>("drain", "A drain under way: the node's allocations are moved away.")
          .wire<&DrainStrategy::deadline>(
              "Deadline",
              "How long they may take, in nanoseconds; 0: as long as it takes; below 0: all are stopped at once.")
          .wire<&DrainStrategy::ignore_system_jobs>("IgnoreSystemJobs", "Whether allocations of system jobs stay.")
          .wire<&DrainStrategy::ask_slurm>("AskSlurm", "Whether the node's Slurm jobs are waited for first.")
          .wire<&DrainStrategy::force_deadline>("ForceDeadline",
                                                "When what is left is stopped, by the server's clock; none: never.")
          .time()
          .wire<&DrainStrategy::started_at>("StartedAt", "When it began.")
          .time()
          .done();
  return s;
}

const Structure& description(Tag<DrainMetadata>) {
  static const Structure s =
      Builder<DrainMetadata>("last drain", "The newest drain of a node, also when it is over.")
          .wire<&DrainMetadata::status>("Status", "`draining`, `complete` or `canceled`.")
          .wire<&DrainMetadata::started_at>("StartedAt", "When it began.")
          .time()
          .wire<&DrainMetadata::updated_at>("UpdatedAt", "When it last changed.")
          .time()
          .wire<&DrainMetadata::meta>("Meta", "What was said of it by whoever asked for it, or ended it.")
          .wire<&DrainMetadata::accessor_id>("AccessorID",
                                             "Accessor ID of the token with which that was asked; empty: none.")
          .done();
  return s;
}

const Enumeration& description(Tag<SlurmDrainStatus>) {
  static const Enumeration e = describe::enumeration<SlurmDrainStatus>("drain status in Slurm");
  return e;
}

const Structure& description(Tag<SlurmDrain>) {
  static const Structure s =
      Builder<SlurmDrain>("drain in Slurm", "How far Slurm is with a node that a drain took from it.")
          .wire<&SlurmDrain::status>(
              "Status",
              "`asked` until Slurm was told, `draining` while its jobs run, `drained` until it has the node back.")
          .wire<&SlurmDrain::description>("Description", "What is waited for, for people.")
          .wire<&SlurmDrain::updated_at>("UpdatedAt", "When it last changed.")
          .time()
          .done();
  return s;
}

const Structure& description(Tag<NodeEvent>) {
  static const Structure s = Builder<NodeEvent>("node event", "One line of a node's history.")
                                 .wire<&NodeEvent::message>("Message", "What became of it.")
                                 .wire<&NodeEvent::subsystem>("Subsystem", "`Cluster`, `Drain` or `Driver`.")
                                 .wire<&NodeEvent::details>("Details", "More about it.")
                                 .wire<&NodeEvent::timestamp>("Timestamp", "When.")
                                 .time()
                                 .wire<&NodeEvent::create_index>("CreateIndex", "In which revision.")
                                 .done();
  return s;
}

const Structure& description(Tag<Node>) {
  static const Structure s =
      Builder<Node>("node", "A machine that runs the agent in the node role.")
          .wire<&Node::id>("ID", "UUID; made by its agent, and kept on its disk.")
          .wire<&Node::name>("Name", "Its name, the machine's unless its configuration says otherwise.")
          .wire<&Node::datacenter>("Datacenter", "Its datacenter, by which jobs choose nodes; `dc1` unless said.")
          .wire<&Node::node_class>("NodeClass", "Its class, `${node.class}` of constraints; empty: none.")
          .wire<&Node::node_pool>("NodePool", "Its node pool; `default` unless said.")
          .wire<&Node::attributes>("Attributes", "What its agent found out, by Nomad's names without `attr.`.")
          .wire<&Node::meta>("Meta", "Pairs that were set for it, `${meta.…}` of constraints.")
          .wire<&Node::resources>("NodeResources", "What it has.")
          .wire<&Node::reserved>("ReservedResources", "What of that is kept back from tasks.")
          .wire<&Node::networks>("HostAddresses", "Its addresses, on which tasks have ports.")
          .wire<&Node::drivers>("Drivers", "Its task drivers, by name.")
          .wire<&Node::volumes>("HostVolumes", "Directories that it lends to tasks, by name.")
          .wire<&Node::http_addr>("HTTPAddr", "Address of its agent's API; empty: it tells none.")
          .wire<&Node::host>("Host", "Name of the host that it is, when a provider made it; else empty.")
          .wire<&Node::cluster>("Cluster", "The cluster that it belongs to; empty: none.")
          .wire<&Node::status>(
              "Status",
              "`initializing`, `ready`, `down`, or `disconnected`: not heard of, though tasks may go on there.")
          .wire<&Node::status_description>("StatusDescription",
                                           "Why it is so, for people; empty: there is nothing to say.")
          .wire<&Node::eligibility>("SchedulingEligibility",
                                    "Whether new allocations may go there: `eligible` or `ineligible`.")
          .wire<&Node::drain>("DrainStrategy", "The drain that is under way; absent: none.")
          .wire<&Node::last_drain>("LastDrain", "The newest drain, also when it is over; absent: there was none.")
          .wire<&Node::slurm_drain>(
              "SlurmDrain", "How far Slurm is with keeping off; absent: it was not asked, or has the node back.")
          .wire<&Node::status_updated_at>("StatusUpdatedAt", "Unix time in seconds at which Status last changed.")
          .wire<&Node::last_start>("LastStart", "Unix time in nanoseconds at which its agent was started.")
          .wire<&Node::events>("Events", "Its history: the newest events, oldest first.")
          .wire<&Node::computed_class>(
              "ComputedClass",
              "Hash of what placement may depend on: nodes with the same one are alike but for `unique.` attributes.")
          .wire<&Node::create_index>("CreateIndex", "Revision in which it first registered.")
          .wire<&Node::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

std::string compute_class(const Node& node) {
  // FNV-1a over the parts in their (sorted) order; it only has to tell classes apart, not resist an attacker.
  std::uint64_t hash = 1469598103934665603ull;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    hash = (hash ^ 0xffu) * 1099511628211ull;
  };
  mix(node.datacenter);
  mix(node.node_pool);
  mix(node.node_class);
  for (const auto* pairs : {&node.attributes, &node.meta}) {
    mix("|");
    for (const auto& [key, value] : *pairs) {
      if (key.starts_with("unique.")) continue;
      mix(key);
      mix(value);
    }
  }
  for (const auto& [name, driver] : node.drivers) {
    mix(name);
    mix(driver.healthy ? "1" : "0");
  }
  for (const auto& group : node.resources.devices) {
    mix(group.id());
    for (const auto& [name, attribute] : group.attributes) {
      mix(name);
      mix(json::encode(attribute));
    }
  }
  return fmt::format("v1:{:016x}", hash);
}

std::optional<std::string> resolve_target(const std::string& target, const Node& node) {
  if (!target.starts_with("${") || !target.ends_with("}")) return target;
  const std::string_view path = std::string_view(target).substr(2, target.size() - 3);
  const auto lookup = [&](const StringMap& map, std::string_view key) -> std::optional<std::string> {
    const auto it = map.find(std::string(key));
    if (it == map.end()) return std::nullopt;
    return it->second;
  };
  if (path.starts_with("attr.")) return lookup(node.attributes, path.substr(5));
  if (path.starts_with("meta.")) return lookup(node.meta, path.substr(5));
  const std::array<std::pair<std::string_view, const std::string*>, 5> plain = {{{"node.unique.id", &node.id},
                                                                                 {"node.unique.name", &node.name},
                                                                                 {"node.datacenter", &node.datacenter},
                                                                                 {"node.class", &node.node_class},
                                                                                 {"node.pool", &node.node_pool}}};
  for (const auto& [name, value] : plain) {
    if (path == name) return *value;
  }
  return std::nullopt;
}

}  // namespace underway::model
