#include <algorithm>

#include "impact/detail/parts.hpp"
#include "model/capsule/capsule_name.hpp"
#include "scheduler/reconcile/update.hpp"
#include "scheduler/schedule.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::impact {

using model::Job;
using model::TaskGroup;

bool deferrable(const Job& job, const TaskGroup& group) {
  const auto says = [](const model::StringMap& meta) {
    const auto it = meta.find("deferrable");
    return it != meta.end() && it->second == "true";
  };
  return says(group.meta) || says(job.meta);
}

namespace detail {

Living::Living(const tables::Tables& tables, const Job& job) {
  for (const auto& group : job.groups) counts_.emplace(group.name, 0);
  for (const auto& row : tables.allocations_of_job(job.ns, job.id)) {
    const auto found = counts_.find(row->group);
    if (found != counts_.end() && !row->terminal()) ++found->second;
  }
}

std::size_t Living::of(std::string_view group) const {
  const auto found = counts_.find(group);
  return found == counts_.end() ? 0 : found->second;
}

std::unordered_map<std::string_view, const TaskGroup*> groups_by_name(const Job& job) {
  std::unordered_map<std::string_view, const TaskGroup*> out;
  for (const auto& group : job.groups) out.emplace(group.name, &group);
  return out;
}

const model::Task* slurmd_of(const TaskGroup& group) {
  const auto it = std::find_if(group.tasks.begin(), group.tasks.end(), [](const model::Task& task) {
    const auto* config = task.config.if_object();
    const auto* command = config != nullptr ? config->if_contains("command") : nullptr;
    if (command == nullptr || !command->is_string()) return false;
    const std::string_view path = command->get_string();
    return path.substr(path.rfind('/') + 1) == "slurmd";
  });
  return it == group.tasks.end() ? nullptr : &*it;
}

bool spares_slurm_jobs(const model::Task& slurmd) {
  const auto* mode = slurmd.config.get_object().if_contains("kill_mode");
  return mode != nullptr && mode->is_string() && mode->get_string() == "process";
}

namespace {

/// "job 'web'", "capsule 'slurm-services'"; with its group where there are several.
std::string name_of(const Job& job, const TaskGroup& group) {
  if (model::capsule_task(group) != nullptr) return fmt::format("capsule '{}'", model::capsule_name(job, group));
  return job.groups.size() == 1 ? fmt::format("job '{}'", job.id)
                                : fmt::format("group '{}' of job '{}'", group.name, job.id);
}

/// `count` allocations of the group end and nothing does their work instead.
Finding ends(const Job& job, const TaskGroup& group, std::size_t count) {
  const std::string name = name_of(job, group);
  if (count == 0) return {Impact::none, fmt::format("{} ends, nothing of it runs", name)};
  if (job.runs_to_its_end())
    return {Impact::outage, fmt::format("{} ends before it is done, {}", name, counted(count, "task group"))};
  if (deferrable(job, group)) return {Impact::none, fmt::format("{} is away, and is deferrable", name)};
  if (slurmd_of(group) != nullptr)
    return {Impact::outage, fmt::format("{} ends: {} can run no Slurm jobs", name, counted(count, "node"))};
  return {Impact::outage, fmt::format("{} ends, and nothing takes its place", name)};
}

/// The tasks of `count` allocations are started anew.
Finding replaced(const Job& job, const TaskGroup& before, const TaskGroup& after, std::size_t count) {
  const std::string name = name_of(job, after);
  if (job.runs_to_its_end()) return {Impact::outage, fmt::format("{} begins anew what it was at", name)};
  if (deferrable(job, before)) return {Impact::none, fmt::format("{} is replaced, and is deferrable", name)};
  // What counts is what the running slurmd was started with.
  if (const auto* slurmd = slurmd_of(before)) {
    if (!spares_slurm_jobs(*slurmd))
      return {Impact::outage, fmt::format("{} ends the Slurm jobs of {} with its slurmd (no kill_mode = \"process\")",
                                          name, counted(count, "node"))};
    return {Impact::brief, fmt::format("{} is replaced on {}, Slurm jobs run on", name, counted(count, "node"))};
  }
  if (job.type == model::JobType::system)
    return {Impact::brief, fmt::format("{} is replaced on {}", name, counted(count, "node"))};
  const auto parallel = model::update_policy(job, after).max_parallel;  // 0: all at once
  if (parallel > 0 && static_cast<std::size_t>(parallel) < count)
    return {Impact::brief, fmt::format("{} is replaced, {} of {} at a time", name, parallel, count)};
  return {Impact::brief, fmt::format("{} is replaced, and away until the new one runs", name)};
}

/// `after`: the group as it would be; null: not at all.
void judge_group(const Job& current, const Job& proposed, const TaskGroup& before, const TaskGroup* after,
                 std::size_t live, std::vector<Finding>& findings) {
  if (after == nullptr) {
    findings.push_back(ends(current, before, live));
    return;
  }
  if (live == 0) return;
  const auto wanted =
      current.type == model::JobType::system ? live : static_cast<std::size_t>(std::max<std::int64_t>(after->count, 0));
  if (wanted == 0) {
    findings.push_back(ends(current, before, live));
    return;
  }
  if (current.meta != proposed.meta || scheduler::tasks_updated(before, *after)) {
    findings.push_back(replaced(proposed, before, *after, std::min(live, wanted)));
    return;
  }
  if (wanted < live && current.runs_to_its_end())
    findings.push_back(ends(current, before, live - wanted));
  else if (wanted < live)
    findings.push_back({Impact::none, fmt::format("{}: {} of {} go on", name_of(proposed, *after), wanted, live)});
}

}  // namespace

void judge_job(const View& view, const Job& proposed, std::vector<Finding>& findings) {
  auto current = view.tables.find_job(proposed.ns, proposed.id);
  if (current && current->stop) current = nullptr;
  if (proposed.stop) {
    if (!current) return;
    const Living living(view.tables, *current);
    for (const auto& group : current->groups) {
      const auto live = living.of(group.name);
      if (live > 0 || !current->runs_to_its_end()) findings.push_back(ends(*current, group, live));
    }
    return;
  }
  if (!current) {
    // Work that is begun is no change of the cluster.
    if (!proposed.runs_to_its_end()) findings.push_back({Impact::none, fmt::format("job '{}' is new", proposed.id)});
    return;
  }
  if (server::same_specification(*current, proposed)) return;  // its status
  const std::size_t before = findings.size();
  const Living living(view.tables, *current);
  const auto wanted = groups_by_name(proposed);
  for (const auto& group : current->groups) {
    const auto after = wanted.find(group.name);
    judge_group(*current, proposed, group, after == wanted.end() ? nullptr : after->second, living.of(group.name),
                findings);
  }
  if (findings.size() == before)
    findings.push_back({Impact::none, fmt::format("job '{}' changes, and nothing that runs is touched", proposed.id)});
}

}  // namespace detail
}  // namespace underway::impact
