#include "jobspec/detail/safe_update.hpp"

#include <algorithm>

namespace underway::jobspec::detail {

using model::Job;
using model::UpdateStrategy;
using namespace std::chrono_literals;

namespace {

/// Of the nodes, rounded up: one, up to a hundred nodes.
constexpr std::int64_t kCanaryPercent = 1;
/// One in so many hosts at a time, and at least one.
constexpr std::int64_t kHostsPerTurn = 10;
/// A daemon that cannot work mostly says so at its start; the node by node of many nodes has to end as well.
constexpr Duration kMinHealthyTime = 5s;
/// Below the 60 s of a short SlurmdTimeout, so that slurmctld still waits when a slurmd that never works is taken back.
constexpr Duration kHealthyDeadline = 40s;

std::int64_t hosts_of(const Job& job, const model::Cluster& cluster) {
  std::int64_t hosts = 0;
  for (const auto& pool : cluster.pools) {
    if (job.node_pool == "all" || job.node_pool == pool.name) hosts += pool.size;
  }
  return hosts;
}

/// A capsule has data that its new version may have changed: it goes back with them, by `capsule upgrade`, or not at
/// all.
bool is_capsule(const Job& job) {
  return std::any_of(job.groups.begin(), job.groups.end(), [](const model::TaskGroup& group) {
    return std::any_of(group.tasks.begin(), group.tasks.end(),
                       [](const model::Task& task) { return task.driver == "capsule"; });
  });
}

template <class Value>
void fill(std::optional<Value>& field, const std::optional<Value>& elsewhere, Value otherwise) {
  if (!field) field = elsewhere.value_or(otherwise);
}

/// `elsewhere` is what the job says, for a group.
void fill(UpdateStrategy& update, const UpdateStrategy& elsewhere, bool system, std::int64_t parallel) {
  const auto max_parallel = update.max_parallel ? update.max_parallel : elsewhere.max_parallel;
  const bool rolls = max_parallel != 0;
  fill(update.auto_revert, elsewhere.auto_revert, rolls);
  if (!system) return;
  fill(update.max_parallel, elsewhere.max_parallel, parallel);
  fill(update.canary, elsewhere.canary, rolls ? kCanaryPercent : 0);
  fill(update.auto_promote, elsewhere.auto_promote, *update.canary > 0);
  const auto deadline = update.healthy_deadline ? update.healthy_deadline : elsewhere.healthy_deadline;
  fill(update.min_healthy_time, elsewhere.min_healthy_time, std::min(kMinHealthyTime, deadline.value_or(1h) / 2));
  if (*update.min_healthy_time < kHealthyDeadline)
    fill(update.healthy_deadline, elsewhere.healthy_deadline, kHealthyDeadline);
}

}  // namespace

void roll_out_safely(Job& job, const model::Cluster& cluster) {
  if (job.runs_to_its_end() || is_capsule(job)) return;
  const bool system = job.type == model::JobType::system;
  const std::int64_t parallel = std::max<std::int64_t>(1, hosts_of(job, cluster) / kHostsPerTurn);
  const UpdateStrategy said = job.update.value_or(UpdateStrategy{});
  for (auto& group : job.groups) {
    if (group.update) fill(*group.update, said, system, parallel);
  }
  fill(job.update ? *job.update : job.update.emplace(), {}, system, parallel);
}

}  // namespace underway::jobspec::detail
