// The rules of an allocation's life, as plain functions of its tasks' states.
#include "node/allocation/allocation_runner.hpp"

namespace underway::node {

using model::LifecycleHook;
using model::TaskRunState;
using model::TaskState;

namespace {

bool has_hook(const model::Task& task, LifecycleHook hook) { return task.lifecycle && task.lifecycle->hook == hook; }

const TaskState& state_of(const std::map<std::string, TaskState>& tasks, const std::string& name) {
  static const TaskState pending;
  const auto it = tasks.find(name);
  return it == tasks.end() ? pending : it->second;
}

/// Sidecars have to run, others to be done.
bool prestart_satisfied(const model::TaskGroup& group, const std::map<std::string, TaskState>& tasks) {
  return std::ranges::all_of(group.tasks, [&](const model::Task& task) {
    if (!has_hook(task, LifecycleHook::prestart)) return true;
    const TaskState& state = state_of(tasks, task.name);
    return task.is_sidecar() ? state.state == TaskRunState::running : state.successful();
  });
}

bool mains_are(const model::TaskGroup& group, const std::map<std::string, TaskState>& tasks, bool begun) {
  return std::ranges::all_of(group.tasks, [&](const model::Task& task) {
    if (!task.is_main()) return true;
    const TaskState& state = state_of(tasks, task.name);
    return begun ? state.state != TaskRunState::pending : state.state == TaskRunState::dead;
  });
}

}  // namespace

std::vector<std::string> startable(const model::TaskGroup& group, const std::map<std::string, TaskState>& tasks) {
  const bool prepared = prestart_satisfied(group, tasks);
  const bool begun = mains_are(group, tasks, true);
  const bool over = mains_are(group, tasks, false);
  std::vector<std::string> names;
  for (const auto& task : group.tasks) {
    if (state_of(tasks, task.name).state != TaskRunState::pending) continue;
    const bool may = task.is_main()                             ? prepared
                     : has_hook(task, LifecycleHook::prestart)  ? true
                     : has_hook(task, LifecycleHook::poststart) ? begun && !over
                                                                : over;
    if (may) names.push_back(task.name);
  }
  return names;
}

ClientState client_state(const std::map<std::string, TaskState>& tasks) {
  bool running = false, pending = false, failed = false;
  for (const auto& [name, state] : tasks) {
    if (state.state == TaskRunState::running)
      running = true;
    else if (state.state == TaskRunState::pending)
      pending = true;
    else if (state.failed)
      failed = true;
  }
  if (failed) return {model::ClientStatus::failed, "Failed tasks"};
  if (running) return {model::ClientStatus::running, "Tasks are running"};
  if (pending) return {model::ClientStatus::pending, "No tasks have started"};
  return {model::ClientStatus::complete, "All tasks have completed"};
}

bool tasks_work(const model::TaskGroup& group, const std::map<std::string, TaskState>& tasks) {
  bool all = true;
  for (const auto& task : group.tasks) {
    if (has_hook(task, LifecycleHook::poststop)) continue;
    const TaskState& state = state_of(tasks, task.name);
    if (state.failed) return false;
    const bool runs = state.state == TaskRunState::running;
    const bool done = state.successful();
    all = all && (task.is_main() ? runs || done : task.is_sidecar() ? runs : done);
  }
  return all;
}

}  // namespace underway::node
