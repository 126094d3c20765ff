#include "model/job.hpp"

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
  sum.memory_mb += more.memory_mb;
  sum.memory_max_mb += more.memory_max_mb > 0 ? more.memory_max_mb : more.memory_mb;
}

void raise(Resources& most, const Resources& candidate) {
  most.cpu = std::max(most.cpu, candidate.cpu);
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

const TaskGroup* Job::find_group(std::string_view group_name) const {
  for (const auto& group : groups) {
    if (group.name == group_name) return &group;
  }
  return nullptr;
}

void Job::canonicalize() {
  if (name.empty()) name = id;
  if (priority == 0) priority = 50;
  for (auto& group : groups) {
    if (!group.restart) group.restart = RestartPolicy::for_type(type);
    for (auto& task : group.tasks) {
      if (!task.restart) task.restart = group.restart;
      for (auto& t : task.templates) {
        if (t.change_mode == ChangeMode::signal && t.change_signal.empty()) t.change_signal = "SIGHUP";
      }
    }
  }
}

}  // namespace underway::model
