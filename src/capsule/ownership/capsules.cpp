#include "ownership/capsules.hpp"

#include "base/error.hpp"
#include "ownership/phases.hpp"

namespace underway::ownership {

using model::Allocation;
using model::Capsule;

std::string image_of(const model::Job& job, const std::string& group) {
  const auto* found = job.find_group(group);
  const auto* task = found != nullptr ? capsule_task(*found) : nullptr;
  if (task == nullptr || !task->config.is_object()) return {};
  const auto* image = task->config.get_object().if_contains("image");
  return image != nullptr && image->is_string() ? std::string(image->get_string()) : std::string();
}

run::ProtectConfig protection_of(const model::Job& job, const std::string& group) {
  const auto* found = job.find_group(group);
  const auto* task = found != nullptr ? capsule_task(*found) : nullptr;
  return task != nullptr ? run::protection_of(task->config) : run::ProtectConfig{};
}

model::Job with_image(const model::Job& job, const std::string& group, const std::string& image) {
  model::Job changed = job;
  for (auto& candidate : changed.groups) {
    if (candidate.name != group) continue;
    for (auto& task : candidate.tasks) {
      if (task.driver == model::kCapsuleDriver && task.config.is_object()) task.config.get_object()["image"] = image;
    }
  }
  return changed;
}

std::optional<Capsule> find_capsule(const tables::Tables& tables, const model::Job& job,
                                    const model::TaskGroup& group) {
  return tables::find_record<Capsule>(tables, model::capsule_key(job.ns, capsule_name(job, group)));
}

const model::CapsuleReplica* best_replica(const tables::Tables& tables, const Capsule& capsule, std::int64_t lost) {
  const model::CapsuleReplica* best = nullptr;
  for (const auto& replica : capsule.replicas) {
    const auto row = tables.find_node(replica.node);
    const bool fresh = lost - replica.at <= capsule.rpo.count();
    if (replica.node == capsule.owner || !row || !row->ready() || !fresh) continue;
    if (best == nullptr || replica.at > best->at) best = &replica;
  }
  return best;
}

namespace {

/// Why the node that was chosen would not.
std::string why_not_standby(const tables::Tables& tables, const Capsule& capsule, TimePoint now) {
  if (capsule.keeps_nothing) return "it keeps nothing, and starts anywhere";
  if (capsule.standby.empty() || capsule.standby == capsule.owner)
    return capsule.standby_chosen || capsule.loss <= Duration{0} ? "no node is chosen to keep copies"
                                                                 : "no other node of its pool can keep copies";
  const auto row = tables.find_node(capsule.standby);
  const std::string name = row ? row->name : capsule.standby_name;
  if (!row || row->silent()) return fmt::format("{} is not heard of", name.empty() ? "its node" : name);
  if (!row->ready()) return fmt::format("{} takes nothing new", name);
  const auto* replica = capsule.find_replica(capsule.standby);
  if (replica == nullptr) return fmt::format("{} has no copy yet", name);
  const Duration age = now - from_unix_nanos(replica->at);
  if (age > capsule.rpo)
    return fmt::format("the copy on {} is {} old, and no more than {} may be lost", name, human_duration(age),
                       human_duration(capsule.rpo));
  return fmt::format("the copy on {} is older", name);
}

}  // namespace

model::CapsuleSuccessor successor_of(const tables::Tables& tables, const Capsule& capsule, TimePoint now) {
  model::CapsuleSuccessor out;
  if (const auto* best = best_replica(tables, capsule, unix_nanos(now))) {
    out.node = best->node;
    out.node_name = best->node_name;
    out.loses = now - from_unix_nanos(best->at);
  }
  if (out.node.empty() || out.node != capsule.standby) out.why = why_not_standby(tables, capsule, now);
  return out;
}

std::string exposed(const Capsule& capsule, TimePoint now) {
  constexpr auto kFirstCopy = std::chrono::seconds(60);
  const bool at_rest = capsule.state == model::CapsuleState::held && capsule.ran &&
                       now - from_unix_nanos(capsule.held_since) >= kFirstCopy;
  if (!at_rest || capsule.loss <= Duration{0} || capsule.keeps_nothing || !capsule.successor) return {};
  const auto& next = *capsule.successor;
  if (next.node.empty())
    return fmt::format("all that it keeps would be lost with {}: {}", capsule.owner_name, next.why);
  if (next.loses <= capsule.loss) return {};
  return fmt::format("what it wrote in the last {} would be lost with {}; {} were declared", human_duration(next.loses),
                     capsule.owner_name, human_duration(capsule.loss));
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
  if (capsule->move && row_of(capsule->move->phase).held)
    return fmt::format("the move of the capsule to {}", capsule->move->target_name);
  const bool upgraded_here = capsule->upgrade && capsule->upgrade->node == allocation.node_id;
  if (upgraded_here && row_of(capsule->upgrade->phase).held)
    return fmt::format("the upgrade of the capsule: {}", describe::spell(capsule->upgrade->phase));
  if (capsule->allocation != allocation.id) return "the end of the capsule's allocation before it";
  return std::nullopt;
}

std::optional<std::string> CapsuleGuard::home(const tables::Tables& tables, const model::Job& job,
                                              const model::TaskGroup& group) const {
  if (capsule_task(group) == nullptr) return std::nullopt;
  const auto capsule = find_capsule(tables, job, group);
  if (!capsule || home_of(*capsule).empty()) return std::nullopt;
  return home_of(*capsule);
}

}  // namespace underway::ownership
