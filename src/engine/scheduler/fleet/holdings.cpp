#include "scheduler/fleet/holdings.hpp"

#include "base/json/json.hpp"
#include "scheduler/feasibility/device_match.hpp"
#include "scheduler/feasibility/volumes.hpp"

namespace underway::scheduler {

namespace {

std::string instance_key(const std::string& group, const std::string& instance) { return group + "/" + instance; }

template <class Key>
void count(std::map<Key, int>& map, const Key& key, int sign) {
  const auto it = map.try_emplace(key, 0).first;
  it->second += sign;
  if (it->second == 0) map.erase(it);
}

/// Cores that are free, in the order of ids, by NUMA node.
using FreeCores = std::map<std::int64_t, std::vector<const model::Core*>>;

struct Work {
  const model::Node& node;
  const Holdings& taken;
  Assignment out;
  double weights = 0;  ///< of all device affinities, without their signs
  double matched = 0;

  bool core_free(const model::Core& core) const {
    const auto& kept = node.reserved.reservable_cores;
    return !taken.core_taken(core.id) && std::find(kept.begin(), kept.end(), core.id) == kept.end() &&
           std::find(out.hold.cores.begin(), out.hold.cores.end(), core.id) == out.hold.cores.end();
  }
  bool device_free(const model::NodeDeviceGroup& devices, const model::NodeDevice& device) const {
    const auto key = instance_key(devices.id(), device.id);
    return device.healthy && !taken.device_taken(key) &&
           std::find(out.hold.devices.begin(), out.hold.devices.end(), key) == out.hold.devices.end();
  }
};

FreeCores free_cores(const Work& work) {
  FreeCores free;
  for (const auto& core : work.node.resources.topology.cores)
    if (work.core_free(core)) free[core.numa_node].push_back(&core);
  return free;
}

std::vector<const model::NodeDevice*> free_instances(const Work& work, const model::NodeDeviceGroup& devices,
                                                     const model::RequestedDevice& request,
                                                     std::optional<std::int64_t> numa) {
  std::vector<const model::NodeDevice*> free;
  for (const auto& instance : devices.instances) {
    if (numa && instance.numa_node != *numa) continue;
    if (work.device_free(devices, instance) && instance_suits(instance, request)) free.push_back(&instance);
  }
  return free;
}

/// All of one request are alike: they come from one group, the most attractive that has enough.
bool assign_device(Work& work, Assignment::OfTask& mine, const model::RequestedDevice& request,
                   std::optional<std::int64_t> numa) {
  const model::NodeDeviceGroup* best = nullptr;
  double most = 0;
  for (const auto& devices : work.node.resources.devices) {
    if (!device_suits(devices, request)) continue;
    if (std::ssize(free_instances(work, devices, request, numa)) < request.count) continue;
    const double attraction = device_attraction(devices, request);
    if (best != nullptr && attraction <= most) continue;
    best = &devices;
    most = attraction;
  }
  if (best == nullptr) return false;
  model::AllocatedDevice given{best->vendor, best->type, best->name, {}};
  auto free = free_instances(work, *best, request, numa);
  free.resize(static_cast<std::size_t>(request.count));
  for (const auto* instance : free) {
    given.ids.push_back(instance->id);
    work.out.hold.devices.push_back(instance_key(best->id(), instance->id));
  }
  for (const auto& affinity : request.affinities) work.weights += std::abs(static_cast<double>(affinity.weight));
  work.matched += most;
  mine.devices.push_back(std::move(given));
  return true;
}

bool is_at_numa(const model::Resources& resources, const model::RequestedDevice& request) {
  if (!resources.numa || resources.numa->affinity == model::NumaAffinity::none) return false;
  const auto& names = resources.numa->devices;
  return std::find(names.begin(), names.end(), request.name) != names.end();
}

bool assign_devices(Work& work, Assignment::OfTask& mine, const model::Resources& resources, bool at_numa,
                    std::optional<std::int64_t> numa) {
  return std::all_of(resources.devices.begin(), resources.devices.end(), [&](const model::RequestedDevice& request) {
    return is_at_numa(resources, request) != at_numa || assign_device(work, mine, request, numa);
  });
}

void give_cores(Work& work, Assignment::OfTask& mine, const std::vector<const model::Core*>& cores,
                std::int64_t wanted) {
  for (std::int64_t i = 0; i < wanted; ++i) {
    const model::Core& core = *cores[static_cast<std::size_t>(i)];
    mine.cores.push_back(core.id);
    mine.cpu += core.base_mhz;
    work.out.hold.cores.push_back(core.id);
  }
}

/// All cores, and the devices that shall lie beside them, at one NUMA node: that with the fewest free cores that has
/// enough, so that the others stay whole.
bool assign_together(Work& work, Assignment::OfTask& mine, const model::Resources& resources, const FreeCores& free) {
  std::vector<std::pair<std::size_t, std::int64_t>> order;
  for (const auto& [numa, cores] : free)
    if (std::ssize(cores) >= resources.cores) order.emplace_back(cores.size(), numa);
  std::sort(order.begin(), order.end());
  for (const auto& [size, numa] : order) {
    const Work before = work;
    const auto devices = mine.devices;
    if (assign_devices(work, mine, resources, true, numa)) {
      give_cores(work, mine, free.at(numa), resources.cores);
      return true;
    }
    work.out = before.out;
    work.weights = before.weights;
    work.matched = before.matched;
    mine.devices = devices;
  }
  return false;
}

bool assign_cores(Work& work, Assignment::OfTask& mine, const model::Resources& resources, std::string& lacking) {
  const FreeCores free = free_cores(work);
  const auto affinity = resources.numa ? resources.numa->affinity : model::NumaAffinity::none;
  const bool wants_numa = affinity != model::NumaAffinity::none;
  if (wants_numa && assign_together(work, mine, resources, free)) return true;
  std::vector<const model::Core*> all;
  for (const auto& [numa, cores] : free) all.insert(all.end(), cores.begin(), cores.end());
  if (std::ssize(all) < resources.cores) {
    lacking = "cores";
    return false;
  }
  if (affinity == model::NumaAffinity::require) {
    lacking = "numa: no node has the cores and devices together";
    return false;
  }
  std::sort(all.begin(), all.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  give_cores(work, mine, all, resources.cores);
  if (wants_numa && !assign_devices(work, mine, resources, true, std::nullopt)) {
    lacking = "devices: no devices match request";
    return false;
  }
  return true;
}

bool holds_something(const model::Resources& resources) { return resources.cores > 0 || !resources.devices.empty(); }

}  // namespace

void Holdings::change(const Hold& hold, int sign) {
  for (const auto core : hold.cores) count(cores_, core, sign);
  for (const auto& device : hold.devices) count(devices_, device, sign);
}

std::shared_ptr<const Hold> hold_of(const model::Allocation& allocation) {
  std::shared_ptr<Hold> hold;
  for (const auto& [name, task] : allocation.resources.tasks) {
    if (allocation.sleeps() || (task.cores.empty() && task.devices.empty())) continue;
    if (!hold) hold = std::make_shared<Hold>();
    hold->cores.insert(hold->cores.end(), task.cores.begin(), task.cores.end());
    for (const auto& device : task.devices)
      for (const auto& id : device.ids)
        hold->devices.push_back(instance_key(device.vendor + "/" + device.type + "/" + device.name, id));
  }
  for (auto& volume : volumes_held_alone(allocation)) {
    if (!hold) hold = std::make_shared<Hold>();
    hold->devices.push_back(std::move(volume));
  }
  return hold;
}

std::int64_t held_cpu(const model::Allocation& allocation) {
  std::int64_t sum = 0;
  for (const auto& [name, task] : allocation.resources.tasks)
    if (!task.cores.empty()) sum += task.cpu;
  return sum;
}

bool asks_to_hold(const model::TaskGroup& group) {
  if (!volumes_held_alone(group).empty() || !own_volumes_held_alone(group, 0).empty()) return true;
  return std::any_of(group.tasks.begin(), group.tasks.end(),
                     [](const model::Task& task) { return holds_something(task.resources); });
}

std::string hold_key(const model::TaskGroup& group) {
  std::string key;
  for (const auto& task : group.tasks) {
    if (!holds_something(task.resources)) continue;
    model::Resources held;
    held.cores = task.resources.cores;
    held.devices = task.resources.devices;
    held.numa = task.resources.numa;
    key += json::encode(held);
    key += '\x1f';
  }
  for (const auto& volume : volumes_held_alone(group)) key += volume + '\x1f';
  return key;
}

bool has_devices(const model::Node& node, const model::TaskGroup& group) {
  const auto has = [&](const model::RequestedDevice& request) {
    return std::any_of(node.resources.devices.begin(), node.resources.devices.end(),
                       [&](const model::NodeDeviceGroup& devices) {
                         return device_suits(devices, request) && std::ssize(devices.instances) >= request.count;
                       });
  };
  return std::all_of(group.tasks.begin(), group.tasks.end(), [&](const model::Task& task) {
    return std::all_of(task.resources.devices.begin(), task.resources.devices.end(), has);
  });
}

std::optional<Assignment> assign(const model::Node& node, const Holdings& taken, const model::TaskGroup& group,
                                 std::string* lacking) {
  Work work{node, taken, {}, 0, 0};
  std::string why;
  for (const auto& task : group.tasks) {
    const model::Resources& resources = task.resources;
    if (!holds_something(resources)) continue;
    Assignment::OfTask mine;
    mine.task = task.name;
    bool good = resources.cores == 0 || assign_cores(work, mine, resources, why);
    if (good && !assign_devices(work, mine, resources, false, std::nullopt)) {
      why = "devices: no devices match request";
      good = false;
    }
    if (!good) {
      if (lacking != nullptr) *lacking = why;
      return std::nullopt;
    }
    work.out.cpu += mine.cpu;
    work.out.tasks.push_back(std::move(mine));
  }
  for (auto& volume : volumes_held_alone(group)) {
    if (taken.device_taken(volume)) {
      if (lacking != nullptr) *lacking = kHasWriter;
      return std::nullopt;
    }
    work.out.hold.devices.push_back(std::move(volume));
  }
  if (work.weights > 0) work.out.affinity = work.matched / work.weights;
  return std::move(work.out);
}

}  // namespace underway::scheduler
