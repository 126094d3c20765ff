#include "api/allocation/allocation_body.hpp"

#include <algorithm>

#include "api/nomad/nomad_body.hpp"
#include "model/job/spelled_policies.hpp"

namespace underway::api {
namespace {

const model::TaskGroup* group_of(const model::Allocation& allocation) {
  return allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
}

/// Its group's networks with the ports that it was given.
std::vector<model::NetworkResource> networks_of(const model::Allocation& allocation) {
  const auto* group = group_of(allocation);
  if (group == nullptr) return {};
  auto networks = group->networks;
  for (auto& network : networks) {
    for (auto* list : {&network.reserved_ports, &network.dynamic_ports}) {
      for (auto& port : *list) {
        const auto given = std::ranges::find(allocation.resources.ports, port.label, &model::AllocatedPort::label);
        if (given == allocation.resources.ports.end()) continue;
        port.value = given->value;
        if (network.ip.empty()) network.ip = given->host_ip;
      }
    }
  }
  return networks;
}

/// Null when there are none, as every list of Nomad's.
template <class T>
std::string list_json(const std::vector<T>& list) {
  return list.empty() ? "null" : nomad_json(list);
}

/// When each of its tasks runs; null: it is a main task.
std::string lifecycles_json(const model::Allocation& allocation) {
  const auto* group = group_of(allocation);
  std::string out = "{";
  for (const auto& [name, given] : allocation.resources.tasks) {
    if (out.size() > 1) out += ',';
    json::append_string(out, name);
    const auto* task = group == nullptr ? nullptr : group->find_task(name);
    out += ':' + (task != nullptr ? nomad_json(task->lifecycle) : std::string("null"));
  }
  return out + "}";
}

std::string allocated_json(const model::Allocation& allocation, const std::string& networks) {
  const auto& given = allocation.resources;
  return fmt::format(R"({{"Tasks":{},"TaskLifecycles":{},"Shared":{{"Networks":{},"Ports":{},"DiskMB":{}}}}})",
                     nomad_json(given.tasks), lifecycles_json(allocation), networks, list_json(given.ports),
                     given.disk_mb);
}

/// The shape of before Nomad 0.9: what `node status` and `alloc status` of its client add up and print to this day.
struct OldResources {
  std::int64_t cpu = 0, cores = 0, memory_mb = 0, memory_max_mb = 0, disk_mb = 0;

  void add(const model::TaskResources& task) {
    cpu += task.cpu;
    cores += static_cast<std::int64_t>(task.cores.size());
    memory_mb += task.memory_mb;
    memory_max_mb += task.memory_max_mb > 0 ? task.memory_max_mb : task.memory_mb;
  }
  std::string json(const std::string& networks = "null") const {
    return fmt::format(
        R"({{"CPU":{},"Cores":{},"MemoryMB":{},"MemoryMaxMB":{},"DiskMB":{},"IOPS":0,"Networks":{},"Devices":null}})",
        cpu, cores, memory_mb, memory_max_mb, disk_mb, networks);
  }
};

std::string task_resources_json(const model::Allocation& allocation) {
  std::string out = "{";
  for (const auto& [name, task] : allocation.resources.tasks) {
    if (out.size() > 1) out += ',';
    json::append_string(out, name);
    const OldResources resources{task.cpu, static_cast<std::int64_t>(task.cores.size()), task.memory_mb,
                                 task.memory_max_mb};
    out += ':' + resources.json();
  }
  return out + "}";
}

/// Everything but the job, without the brace at the end.
std::string open_json(const model::Allocation& allocation) {
  std::string text = nomad_json(allocation);
  text.pop_back();
  const std::string networks = list_json(networks_of(allocation));
  OldResources all{.disk_mb = allocation.resources.disk_mb};
  for (const auto& [name, task] : allocation.resources.tasks) all.add(task);
  text += ",\"AllocatedResources\":" + allocated_json(allocation, networks);
  text += ",\"Resources\":" + all.json(networks);
  text += ",\"SharedResources\":" + OldResources{.disk_mb = allocation.resources.disk_mb}.json(networks);
  text += ",\"TaskResources\":" + task_resources_json(allocation);
  // Of one in the host's network Nomad tells that there is nothing to tell; its clients do not ask whether it does.
  return text + ",\"NetworkStatus\":" +
         nomad_json(allocation.network_status ? *allocation.network_status : model::AllocNetworkStatus{});
}

}  // namespace

std::string allocated_json(const model::Allocation& allocation) {
  return allocated_json(allocation, list_json(networks_of(allocation)));
}

std::string allocation_event_json(const model::Allocation& allocation) { return open_json(allocation) + "}"; }

std::string allocation_json(const model::Allocation& allocation) {
  return open_json(allocation) +
         ",\"Job\":" + (allocation.job ? nomad_json(model::with_policies(*allocation.job)) : std::string("null")) + "}";
}

}  // namespace underway::api
