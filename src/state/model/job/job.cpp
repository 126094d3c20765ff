#include "model/job/job.hpp"

#include "model/detail/check_name.hpp"
#include "model/job/memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::model {

RestartPolicy RestartPolicy::for_type(JobType type) {
  RestartPolicy policy;
  if (type == JobType::batch || type == JobType::sysbatch) {
    policy.attempts = 3;
    policy.interval = 24h;
  }
  return policy;
}

const Task* TaskGroup::find_task(std::string_view task_name) const {
  for (const auto& task : tasks) {
    if (task.name == task_name) return &task;
  }
  return nullptr;
}

namespace {

void add(Resources& sum, const Resources& more) {
  sum.cpu += more.cpu;
  sum.cores += more.cores;
  sum.memory_mb += more.memory_mb;
  sum.memory_max_mb += most_memory_mb(more.memory_mb, more.memory_max_mb);
}

void raise(Resources& most, const Resources& candidate) {
  most.cpu = std::max(most.cpu, candidate.cpu);
  most.cores = std::max(most.cores, candidate.cores);
  most.memory_mb = std::max(most.memory_mb, candidate.memory_mb);
  most.memory_max_mb = std::max(most.memory_max_mb, candidate.memory_max_mb);
}

}  // namespace

Resources TaskGroup::total_resources() const {
  // Source: Nomad's AllocatedResources.Comparable: phases run one after the other, so only the largest counts.
  Resources zero;
  zero.cpu = zero.memory_mb = zero.memory_max_mb = 0;
  Resources prestart = zero, main = zero, poststop = zero, sidecars = zero;
  for (const auto& task : tasks) {
    if (task.is_main() || (task.lifecycle->hook == LifecycleHook::poststart && !task.lifecycle->sidecar))
      add(main, task.resources);
    else if (task.is_sidecar())
      add(sidecars, task.resources);
    else if (task.lifecycle->hook == LifecycleHook::prestart)
      add(prestart, task.resources);
    else
      add(poststop, task.resources);
  }
  Resources most = prestart;
  raise(most, main);
  raise(most, poststop);
  add(most, sidecars);
  return most;
}

void Job::index_groups() {
  constexpr std::size_t kWorthIt = 16;
  const auto in_place = [this](const auto& entry) { return groups[entry.second].name == entry.first; };
  // With a job's status, say, no group changes.
  if (positions && positions->size() == groups.size() && std::all_of(positions->begin(), positions->end(), in_place))
    return;
  positions.reset();
  if (groups.size() < kWorthIt) return;
  auto now = std::make_shared<GroupPositions>();
  for (std::size_t i = 0; i < groups.size(); ++i) now->emplace(groups[i].name, i);
  positions = std::move(now);
}

const TaskGroup* Job::find_group(std::string_view group_name) const {
  if (positions) {
    const auto at = positions->find(group_name);
    const auto* there = at != positions->end() && at->second < groups.size() ? &groups[at->second] : nullptr;
    if (there != nullptr && there->name == group_name) return there;  // or else groups were changed since
  }
  for (const auto& group : groups) {
    if (group.name == group_name) return &group;
  }
  return nullptr;
}

namespace {

/// The default identity stands apart, wherever it was written.
void canonicalize_identities(Task& task) {
  const auto it = std::find_if(task.identities.begin(), task.identities.end(),
                               [](const Identity& identity) { return identity.is_default(); });
  if (it != task.identities.end() && !task.identity) {
    task.identity = std::move(*it);
    task.identities.erase(it);
  }
  if (task.identity && task.identity->name.empty()) task.identity->name = "default";
}

/// Spellings of old files become today's, so that the rest knows one of each.
void modernize(TaskGroup& group) {
  if (group.max_client_disconnect || group.stop_after_client_disconnect || group.prevent_reschedule_on_lost) {
    auto& disconnect = group.disconnect ? *group.disconnect : group.disconnect.emplace();
    if (!disconnect.lost_after) disconnect.lost_after = group.max_client_disconnect;
    if (!disconnect.stop_on_client_after) disconnect.stop_on_client_after = group.stop_after_client_disconnect;
    if (group.prevent_reschedule_on_lost && !disconnect.replace) disconnect.replace = false;
    group.max_client_disconnect.reset();
    group.stop_after_client_disconnect.reset();
    group.prevent_reschedule_on_lost = false;
  }
  for (auto& task : group.tasks) {
    for (auto& network : task.resources.networks) {
      if (group.networks.empty()) {
        group.networks.push_back(std::move(network));
        continue;
      }
      auto& joined = group.networks.front();
      std::move(network.reserved_ports.begin(), network.reserved_ports.end(),
                std::back_inserter(joined.reserved_ports));
      std::move(network.dynamic_ports.begin(), network.dynamic_ports.end(), std::back_inserter(joined.dynamic_ports));
    }
    task.resources.networks.clear();
  }
}

/// A group without a word about it has as many as its scaling allows at least.
void canonicalize_scaling(TaskGroup& group) {
  if (!group.scaling) return;
  if (!group.scaling->min) group.scaling->min = group.count;
  if (group.scaling->type.empty()) group.scaling->type = "horizontal";
}

void canonicalize_services(std::vector<Service>& services, const std::string& default_name, const std::string& task) {
  for (auto& service : services) {
    if (service.name.empty()) service.name = default_name;
    if (service.task.empty()) service.task = task;
    for (auto& check : service.checks) {
      if (check.name.empty()) check.name = detail::default_check_name(service.name);
      if (check.type == "script" && check.task.empty()) check.task = service.task;
      if (check.on_update.empty()) check.on_update = service.on_update;
      if (!check.check_restart) check.check_restart = service.check_restart;
    }
  }
}

}  // namespace

void Job::canonicalize() {
  if (name.empty()) name = id;
  if (priority == 0) priority = 50;
  for (auto& group : groups) {
    modernize(group);
    canonicalize_scaling(group);
    for (auto& [volume_name, volume] : group.volumes) {
      if (volume.name.empty()) volume.name = volume_name;
      if (volume.type.empty()) volume.type = "host";
    }
    if (!group.restart) group.restart = RestartPolicy::for_type(type);
    // The only task is what a group's service without a word about it is about.
    const std::string only_task = group.tasks.size() == 1 ? group.tasks.front().name : "";
    canonicalize_services(group.services, fmt::format("{}-{}", id, group.name), only_task);
    for (auto& task : group.tasks) {
      canonicalize_services(task.services, fmt::format("{}-{}-{}", id, group.name, task.name), task.name);
      if (!task.restart) task.restart = group.restart;
      canonicalize_identities(task);
      for (auto& t : task.templates) {
        if (t.change_mode == ChangeMode::signal && t.change_signal.empty()) t.change_signal = "SIGHUP";
      }
    }
  }
}

}  // namespace underway::model
