#include "move/capsules.hpp"

#include "base/error.hpp"

namespace underway::move {

using model::Allocation;
using model::Capsule;
using model::MovePhase;

const model::Task* capsule_task(const model::TaskGroup& group) {
  const auto it =
      std::find_if(group.tasks.begin(), group.tasks.end(), [](const auto& task) { return task.driver == kDriver; });
  return it == group.tasks.end() ? nullptr : &*it;
}

std::string capsule_name(const model::Job& job, const model::TaskGroup& group) {
  const auto* task = capsule_task(group);
  if (task != nullptr && task->config.is_object()) {
    const auto* name = task->config.get_object().if_contains("name");
    if (name != nullptr && name->is_string() && !name->get_string().empty()) return std::string(name->get_string());
  }
  const auto several = std::count_if(job.groups.begin(), job.groups.end(),
                                     [](const auto& other) { return capsule_task(other) != nullptr; });
  return several < 2 ? job.id : fmt::format("{}.{}.0", job.id, group.name);
}

std::optional<Capsule> find_capsule(const tables::Tables& tables, const model::Job& job,
                                    const model::TaskGroup& group) {
  return tables::find_record<Capsule>(tables, model::capsule_key(job.ns, capsule_name(job, group)));
}

Capsule get_capsule(const tables::Tables& tables, const std::string& ns, const std::string& name) {
  auto found = tables::find_record<Capsule>(tables, model::capsule_key(ns, name));
  if (found) return std::move(*found);
  throw Error(Code::not_found, fmt::format("there is no capsule '{}' in namespace '{}'", name, ns))
      .advise("`underway capsule list` names those that there are; one appears when its job has been placed");
}

namespace {

const model::TaskGroup* group_of(const Allocation& allocation) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  return group != nullptr && capsule_task(*group) != nullptr ? group : nullptr;
}

/// Between these nobody may begin: one has to end first.
bool in_between(MovePhase phase) {
  return phase == MovePhase::stop || phase == MovePhase::transfer || phase == MovePhase::roll_back;
}

}  // namespace

bool CapsuleGuard::concerns(const Allocation& allocation) const { return group_of(allocation) != nullptr; }

std::optional<std::string> CapsuleGuard::holds(const tables::Tables& tables, const Allocation& allocation) const {
  const auto* group = group_of(allocation);
  if (group == nullptr) return std::nullopt;
  const auto capsule = find_capsule(tables, *allocation.job, *group);
  if (!capsule) return "the record of the capsule";
  if (capsule->job != allocation.job_id || capsule->group != allocation.group)
    return fmt::format("another name: capsule '{}' is that of job '{}', group '{}'", capsule->name, capsule->job,
                       capsule->group);
  if (capsule->owner != allocation.node_id)
    return fmt::format("the capsule, which is {}'s", capsule->owner_name.empty() ? "nobody" : capsule->owner_name);
  if (capsule->fenced) return fmt::format("{} to be known to be back", capsule->owner_name);
  if (capsule->move && in_between(capsule->move->phase))
    return fmt::format("the move of the capsule to {}", capsule->move->target_name);
  if (capsule->allocation != allocation.id) return "the end of the capsule's allocation before it";
  return std::nullopt;
}

std::optional<std::string> CapsuleGuard::home(const tables::Tables& tables, const model::Job& job,
                                              const model::TaskGroup& group) const {
  if (capsule_task(group) == nullptr) return std::nullopt;
  const auto capsule = find_capsule(tables, job, group);
  if (!capsule || capsule->home().empty()) return std::nullopt;
  return capsule->home();
}

}  // namespace underway::move
