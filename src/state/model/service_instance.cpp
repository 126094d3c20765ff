#include "model/service_instance.hpp"

#include <cctype>

#include "base/expand.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

std::string address_of(const Node* node) {
  if (node == nullptr) return {};
  const auto it = node->attributes.find("unique.network.ip-address");
  return it == node->attributes.end() ? std::string{} : it->second;
}

std::string with_port(const std::string& ip, std::int64_t port) {
  return ip.find(':') != std::string::npos ? fmt::format("[{}]:{}", ip, port) : fmt::format("{}:{}", ip, port);
}

const std::string& job_name(const Allocation& allocation) {
  return allocation.job && !allocation.job->name.empty() ? allocation.job->name : allocation.job_id;
}

std::optional<std::string> meta_value(const Allocation& allocation, const Task* task, std::string_view name) {
  const auto in = [&](const StringMap& meta) -> std::optional<std::string> {
    for (const auto& [key, value] : meta)
      if (variable_name(key) == name || upper(variable_name(key)) == name) return value;
    return std::nullopt;
  };
  if (!allocation.job) return std::nullopt;
  if (task != nullptr)
    if (auto found = in(task->meta)) return found;
  if (const auto* group = allocation.job->find_group(allocation.group))
    if (auto found = in(group->meta)) return found;
  return in(allocation.job->meta);
}

std::optional<std::string> find_variable(std::string_view name, const Allocation& allocation, const Task* task) {
  if (name == "NOMAD_ALLOC_ID") return allocation.id;
  if (name == "NOMAD_SHORT_ALLOC_ID") return allocation.id.substr(0, 8);
  if (name == "NOMAD_ALLOC_NAME") return allocation.name;
  if (name == "NOMAD_ALLOC_INDEX") return std::to_string(allocation.index());
  if (name == "NOMAD_GROUP_NAME" || name == "TASKGROUP" || name == "GROUP") return allocation.group;
  if (name == "NOMAD_TASK_NAME" || name == "TASK") return task != nullptr ? task->name : std::string{"group"};
  if (name == "NOMAD_JOB_ID") return allocation.job_id;
  if (name == "NOMAD_JOB_NAME" || name == "JOB") return job_name(allocation);
  if (name == "NOMAD_NAMESPACE") return allocation.ns;
  if (name == "NOMAD_REGION" && allocation.job) return allocation.job->region;
  if (name == "BASE")
    return fmt::format("{}-{}-{}", job_name(allocation), allocation.group, task != nullptr ? task->name : "group");
  if (name.starts_with("NOMAD_META_")) return meta_value(allocation, task, name.substr(11));
  return std::nullopt;
}

std::optional<std::string> find_node_value(std::string_view name, const Node& node) {
  if (name == "NOMAD_DC") return node.datacenter;
  if (!name.starts_with("attr.") && !name.starts_with("meta.") && !name.starts_with("node.")) return std::nullopt;
  return resolve_target(fmt::format("${{{}}}", name), node);
}

}  // namespace

std::string variable_name(std::string_view label) {
  std::string name(label);
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_') c = '_';
  return name;
}

std::vector<DeclaredService> declared_services(const Allocation& allocation) {
  std::vector<DeclaredService> found;
  const TaskGroup* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return found;
  for (const auto& service : group->services) found.push_back({&service, nullptr});
  for (const auto& task : group->tasks)
    for (const auto& service : task.services) found.push_back({&service, &task});
  return found;
}

std::optional<PortAddress> find_port(const Allocation& allocation, const std::string& label, const Node* node) {
  if (label.empty()) return PortAddress{address_of(node), 0, 0};
  for (const auto& port : allocation.resources.ports) {
    if (port.label != label) continue;
    return PortAddress{port.host_ip.empty() ? address_of(node) : port.host_ip, port.value,
                       port.to > 0 ? port.to : port.value};
  }
  if (const auto plain = parse_number<std::int64_t>(label)) return PortAddress{address_of(node), *plain, *plain};
  return std::nullopt;
}

std::optional<PortAddress> find_service_address(const Allocation& allocation, const std::string& port,
                                                const std::string& mode, const Node* node) {
  auto found = find_port(allocation, port, node);
  if (!found || (mode != "alloc" && mode != "driver")) return found;
  const bool own = allocation.network_status && !allocation.network_status->address.empty();
  return PortAddress{own ? allocation.network_status->address : found->ip, found->to, found->to};
}

StringMap port_variables(const Allocation& allocation, const Node* node) {
  StringMap out;
  for (const auto& port : allocation.resources.ports) {
    const std::string label = variable_name(port.label);
    const PortAddress address = find_port(allocation, port.label, node).value();
    // In the host's network the allocation's own address is the host's.
    for (const std::string_view prefix : {"NOMAD_", "NOMAD_HOST_", "NOMAD_ALLOC_"}) {
      out[fmt::format("{}ADDR_{}", prefix, label)] = with_port(address.ip, address.port);
      out[fmt::format("{}IP_{}", prefix, label)] = address.ip;
    }
    out["NOMAD_PORT_" + label] = std::to_string(address.to);
    out["NOMAD_ALLOC_PORT_" + label] = std::to_string(address.to);
    out["NOMAD_HOST_PORT_" + label] = std::to_string(address.port);
    if (node != nullptr)
      for (const auto& network : node->networks)
        if (network.ip == address.ip) out["NOMAD_ALLOC_INTERFACE_" + label] = network.device;
    if (allocation.network_status && !allocation.network_status->address.empty()) {
      const AllocNetworkStatus& own = *allocation.network_status;
      out["NOMAD_ALLOC_INTERFACE_" + label] = own.interface_name;
      out["NOMAD_ALLOC_IP_" + label] = own.address;
      out["NOMAD_ALLOC_ADDR_" + label] = with_port(own.address, address.to);
    }
    const TaskGroup* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
    if (group == nullptr) continue;
    for (const auto& task : group->tasks) {
      const std::string suffix = fmt::format("{}_{}", variable_name(task.name), label);
      out["NOMAD_ADDR_" + suffix] = with_port(address.ip, address.port);
      out["NOMAD_IP_" + suffix] = address.ip;
      out["NOMAD_PORT_" + suffix] = std::to_string(address.port);
    }
  }
  return out;
}

std::string interpolate(std::string_view text, const Allocation& allocation, const Task* task, const Node* node) {
  if (text.find("${") == std::string_view::npos) return std::string(text);
  return expand(text, [&](std::string_view asked) -> std::optional<std::string> {
    const std::string_view name = trim(asked);
    if (auto found = find_variable(name, allocation, task)) return found;
    if (node != nullptr)
      if (auto found = find_node_value(name, *node)) return found;
    if (!name.starts_with("NOMAD_")) return std::nullopt;
    const StringMap ports = port_variables(allocation, node);
    const auto it = ports.find(std::string(name));
    return it == ports.end() ? std::nullopt : std::optional(it->second);
  });
}

std::string service_name(const Allocation& allocation, const DeclaredService& declared) {
  const std::string& name = declared.service->name;
  return interpolate(name.empty() ? "${BASE}" : name, allocation, declared.task, nullptr);
}

bool is_provided(const Allocation& allocation, const DeclaredService& declared) {
  if (allocation.terminal()) return false;
  if (allocation.client_status != ClientStatus::running && allocation.client_status != ClientStatus::unknown)
    return false;
  const std::string& task = declared.task != nullptr ? declared.task->name : declared.service->task;
  if (task.empty()) return true;
  const auto it = allocation.task_states.find(task);
  return it != allocation.task_states.end() && it->second.state == TaskRunState::running;
}

ServiceInstance service_instance(const Allocation& allocation, const DeclaredService& declared, const Node* node) {
  const Service& service = *declared.service;
  const auto fill = [&](const std::string& text) { return interpolate(text, allocation, declared.task, node); };
  ServiceInstance out;
  out.service_name = service_name(allocation, declared);
  out.id = fmt::format("_nomad-task-{}-{}-{}-{}", allocation.id,
                       declared.task != nullptr ? declared.task->name : "group-" + allocation.group, out.service_name,
                       service.port);
  out.ns = allocation.ns;
  out.node_id = allocation.node_id;
  if (node != nullptr) out.datacenter = node->datacenter;
  out.job_id = allocation.job_id;
  out.alloc_id = allocation.id;
  const bool canary = allocation.health.canary;
  for (const auto& tag : canary && !service.canary_tags.empty() ? service.canary_tags : service.tags)
    out.tags.push_back(fill(tag));
  for (const auto& [key, value] : canary && !service.canary_meta.empty() ? service.canary_meta : service.meta)
    out.meta[key] = fill(value);
  if (const auto port = find_service_address(allocation, service.port, service.address_mode, node)) {
    out.address = port->ip;
    out.port = port->port;
  }
  if (!service.address.empty()) out.address = fill(service.address);
  out.ready = allocation.is_ready();
  out.create_index = allocation.create_index;
  out.modify_index = allocation.modify_index;
  return out;
}

const describe::Structure& description(describe::Tag<ServiceInstance>) {
  static const describe::Structure s =
      describe::Builder<ServiceInstance>("service instance", "A service as one allocation provides it.")
          .wire<&ServiceInstance::id>("ID", "Made of allocation, task, service and port; unique.")
          .wire<&ServiceInstance::service_name>("ServiceName", "Name of the service.")
          .wire<&ServiceInstance::ns>("Namespace", "Namespace of its job.")
          .wire<&ServiceInstance::node_id>("NodeID", "ID of the node that it runs on.")
          .wire<&ServiceInstance::datacenter>("Datacenter", "Datacenter of that node.")
          .wire<&ServiceInstance::job_id>("JobID", "ID of the job that declares it.")
          .wire<&ServiceInstance::alloc_id>("AllocID", "ID of the allocation that provides it.")
          .wire<&ServiceInstance::tags>("Tags", "Words of the job's; of a canary its canary_tags, if there are any.")
          .wire<&ServiceInstance::meta>("Meta", "Pairs of the job's; of a canary its canary_meta, if there are any.")
          .wire<&ServiceInstance::address>("Address", "IP address or name under which it is reached.")
          .wire<&ServiceInstance::port>("Port", "Port there; 0: it has none.")
          .wire<&ServiceInstance::ready>("Ready", "Whether the allocation's tasks run and its checks pass.")
          .wire<&ServiceInstance::create_index>("CreateIndex", "Revision in which its allocation was placed.")
          .wire<&ServiceInstance::modify_index>("ModifyIndex", "Revision in which its allocation last changed.")
          .done();
  return s;
}

}  // namespace underway::model
