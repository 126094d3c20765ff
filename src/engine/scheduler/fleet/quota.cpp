#include "scheduler/fleet/quota.hpp"

#include "base/text.hpp"
#include "model/job/memory.hpp"

namespace underway::scheduler {

namespace {

/// A name by its parts from the type on: {type}, {vendor, type} or {vendor, type, model}.
struct DeviceName {
  std::string_view vendor, type, model;

  explicit DeviceName(std::string_view name) {
    const auto first = name.find('/');
    if (first == std::string_view::npos) {
      type = name;
      return;
    }
    vendor = name.substr(0, first);
    const auto second = name.find('/', first + 1);
    type = name.substr(first + 1, second == std::string_view::npos ? second : second - first - 1);
    if (second != std::string_view::npos) model = name.substr(second + 1);
  }

  /// What one of them leaves open, the other may say.
  bool may_be(const DeviceName& other) const {
    const auto agree = [](std::string_view a, std::string_view b) { return a.empty() || b.empty() || a == b; };
    return type == other.type && agree(vendor, other.vendor) && agree(model, other.model);
  }
};

/// The one rule of quotas: 0 bounds nothing, and below 0 nothing may be had.
bool too_much(std::int64_t limit, std::int64_t needed) { return limit < 0 ? needed > 0 : limit > 0 && needed > limit; }

std::int64_t& amount(QuotaUse& use, int which) {
  return which == 0 ? use.cpu : which == 1 ? use.cores : which == 2 ? use.memory_mb : use.memory_max_mb;
}

}  // namespace

void QuotaUse::add(const QuotaUse& more, int sign) {
  QuotaUse copy = more;
  for (int which = 0; which < 4; ++which) amount(*this, which) += sign * amount(copy, which);
  for (const auto& [name, instances] : more.devices) {
    const auto it = devices.try_emplace(name, 0).first;
    it->second += sign * instances;
    if (it->second == 0) devices.erase(it);
  }
}

std::int64_t QuotaUse::count(const std::string& name) const {
  const DeviceName wanted(name);
  std::int64_t sum = 0;
  for (const auto& [device, instances] : devices) {
    if (wanted.may_be(DeviceName(device))) sum += instances;
  }
  return sum;
}

QuotaUse use_of(const model::TaskGroup& group) {
  const auto total = group.total_resources();
  QuotaUse use{total.cpu, total.cores, total.memory_mb, total.memory_max_mb, {}};
  for (const auto& task : group.tasks) {
    for (const auto& device : task.resources.devices) use.devices[device.name] += device.count;
  }
  return use;
}

QuotaUse use_of(const model::Allocation& allocation) {
  QuotaUse use;
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group != nullptr) use = use_of(*group);
  use.devices.clear();
  for (const auto& [name, task] : allocation.resources.tasks) {
    if (group == nullptr)
      use.add({task.cores.empty() ? task.cpu : 0,
               static_cast<std::int64_t>(task.cores.size()),
               task.memory_mb,
               model::most_memory_mb(task.memory_mb, task.memory_max_mb),
               {}});
    for (const auto& device : task.devices)
      use.devices[fmt::format("{}/{}/{}", device.vendor, device.type, device.name)] +=
          static_cast<std::int64_t>(device.ids.size());
  }
  return use;
}

QuotaUse quota_use(const tables::Tables& tables, const std::string& ns) {
  QuotaUse sum;
  // Not by its jobs: one may be deleted while its last allocations still hold something.
  for (const auto& allocation : tables.allocations()) {
    if (allocation->ns == ns && !allocation->terminal()) sum.add(use_of(*allocation));
  }
  return sum;
}

std::vector<std::string> exceeded(const model::QuotaResources& limit, const QuotaUse& used, const QuotaUse& more) {
  std::vector<std::string> out;
  const auto check = [&](std::string_view what, std::int64_t most, std::int64_t there, std::int64_t wanted) {
    if (wanted > 0 && too_much(most, there + wanted))
      out.push_back(
          fmt::format("{} exhausted ({} needed > {} limit)", what, there + wanted, std::max<std::int64_t>(most, 0)));
  };
  check("cpu", limit.cpu, used.cpu, more.cpu);
  check("cores", limit.cores, used.cores, more.cores);
  check("memory", limit.memory_mb, used.memory_mb, more.memory_mb);
  check("memory_max", limit.memory_max_mb, used.memory_max_mb, more.memory_max_mb);
  for (const auto& device : limit.devices)
    check(device.name, device.count, used.count(device.name), more.count(device.name));
  return out;
}

}  // namespace underway::scheduler
