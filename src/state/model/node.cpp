#include "model/node.hpp"

#include "base/json.hpp"

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
  static const Structure s = Builder<DrainStrategy>("drain", "")
                                 .wire<&DrainStrategy::deadline>("Deadline", "")
                                 .wire<&DrainStrategy::ignore_system_jobs>("IgnoreSystemJobs", "")
                                 .wire<&DrainStrategy::ask_slurm>("AskSlurm", "")
                                 .wire<&DrainStrategy::force_deadline>("ForceDeadline", "")
                                 .time()
                                 .wire<&DrainStrategy::started_at>("StartedAt", "")
                                 .time()
                                 .done();
  return s;
}

const Structure& description(Tag<DrainMetadata>) {
  static const Structure s = Builder<DrainMetadata>("last drain", "")
                                 .wire<&DrainMetadata::status>("Status", "")
                                 .wire<&DrainMetadata::started_at>("StartedAt", "")
                                 .time()
                                 .wire<&DrainMetadata::updated_at>("UpdatedAt", "")
                                 .time()
                                 .wire<&DrainMetadata::meta>("Meta", "")
                                 .wire<&DrainMetadata::accessor_id>("AccessorID", "")
                                 .done();
  return s;
}

const Enumeration& description(Tag<SlurmDrainStatus>) {
  static const Enumeration e = describe::enumeration<SlurmDrainStatus>("drain status in Slurm");
  return e;
}

const Structure& description(Tag<SlurmDrain>) {
  static const Structure s = Builder<SlurmDrain>("drain in Slurm", "")
                                 .wire<&SlurmDrain::status>("Status", "")
                                 .wire<&SlurmDrain::description>("Description", "")
                                 .wire<&SlurmDrain::updated_at>("UpdatedAt", "")
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
  static const Structure s = Builder<Node>("node", "A machine that runs the agent in the node role.")
                                 .wire<&Node::id>("ID", "")
                                 .wire<&Node::name>("Name", "")
                                 .wire<&Node::datacenter>("Datacenter", "")
                                 .wire<&Node::node_class>("NodeClass", "")
                                 .wire<&Node::node_pool>("NodePool", "")
                                 .wire<&Node::attributes>("Attributes", "")
                                 .wire<&Node::meta>("Meta", "")
                                 .wire<&Node::resources>("NodeResources", "")
                                 .wire<&Node::reserved>("ReservedResources", "")
                                 .wire<&Node::networks>("HostAddresses", "")
                                 .wire<&Node::drivers>("Drivers", "")
                                 .wire<&Node::volumes>("HostVolumes", "")
                                 .wire<&Node::http_addr>("HTTPAddr", "")
                                 .wire<&Node::host>("Host", "")
                                 .wire<&Node::cluster>("Cluster", "")
                                 .wire<&Node::status>("Status", "")
                                 .wire<&Node::status_description>("StatusDescription", "")
                                 .wire<&Node::eligibility>("SchedulingEligibility", "")
                                 .wire<&Node::drain>("DrainStrategy", "")
                                 .wire<&Node::last_drain>("LastDrain", "")
                                 .wire<&Node::slurm_drain>("SlurmDrain", "")
                                 .wire<&Node::status_updated_at>("StatusUpdatedAt", "")
                                 .wire<&Node::last_start>("LastStart", "")
                                 .wire<&Node::events>("Events", "")
                                 .wire<&Node::computed_class>("ComputedClass", "")
                                 .wire<&Node::create_index>("CreateIndex", "")
                                 .wire<&Node::modify_index>("ModifyIndex", "")
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
