#include "model/capsule/capsule_name.hpp"

#include <algorithm>

namespace underway::model {

const Task* capsule_task(const TaskGroup& group) {
  const auto it = std::find_if(group.tasks.begin(), group.tasks.end(),
                               [](const auto& task) { return task.driver == kCapsuleDriver; });
  return it == group.tasks.end() ? nullptr : &*it;
}

std::string capsule_name(const Job& job, const TaskGroup& group) {
  const auto* task = capsule_task(group);
  if (task != nullptr && task->config.is_object()) {
    const auto* name = task->config.get_object().if_contains("name");
    if (name != nullptr && name->is_string() && !name->get_string().empty()) return std::string(name->get_string());
  }
  const auto several = std::count_if(job.groups.begin(), job.groups.end(),
                                     [](const auto& other) { return capsule_task(other) != nullptr; });
  return several < 2 ? job.id : fmt::format("{}.{}.0", job.id, group.name);
}

}  // namespace underway::model
