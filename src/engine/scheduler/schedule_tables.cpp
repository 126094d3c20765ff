#include "scheduler/schedule.hpp"

#include "tables/host_volumes.hpp"
#include "tables/node_pools.hpp"
#include "tables/quotas.hpp"
#include "tables/scheduler_configuration.hpp"

namespace underway::scheduler {

namespace {

/// What operators have set, for the job's pool before what they have for all.
Rules rules_of(const tables::Tables& tables, const model::Job& job) {
  const auto configuration = tables::scheduler_configuration(tables);
  Rules rules;
  rules.algorithm = configuration.algorithm;
  rules.preempts = configuration.preemption.allows(job.type);
  rules.memory_beyond = configuration.memory_oversubscription;
  if (const auto pool = tables::find_record<model::NodePool>(tables, job.node_pool)) {
    rules.algorithm = pool->scheduling.algorithm.value_or(rules.algorithm);
    rules.memory_beyond = pool->scheduling.memory_oversubscription.value_or(rules.memory_beyond);
  }
  return rules;
}

std::optional<QuotaBound> quota_of(const tables::Tables& tables, const model::Job& job) {
  const std::string name = tables::quota_of(tables, job.ns);
  if (name.empty()) return std::nullopt;
  const auto quota = tables::find_record<model::Quota>(tables, name);
  const auto* limit = quota ? quota->limit_of(job.region) : nullptr;
  if (limit == nullptr) return std::nullopt;
  return QuotaBound{name, limit->region_limit, tables::namespaces_of_quota(tables, name),
                    [&tables](const std::string& ns) { return quota_use(tables, ns); }};
}

/// Whether a task of it is a capsule, whose data and addresses are its node's for as long as it runs.
bool has_capsule(const model::Allocation& allocation) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  return group != nullptr && std::any_of(group->tasks.begin(), group->tasks.end(),
                                         [](const auto& task) { return task.driver == "capsule"; });
}

bool depends_on(const model::Job& job, const std::string& other) {
  const auto named = [&](const model::Dependency& dependency) { return dependency.job == other; };
  return std::any_of(job.depends_on.begin(), job.depends_on.end(), named) ||
         std::any_of(job.groups.begin(), job.groups.end(), [&](const model::TaskGroup& group) {
           return std::any_of(group.depends_on.begin(), group.depends_on.end(), named);
         });
}

/// Eviction is an outage of a capsule, and of every job that depends on what is evicted: neither happens for the sake
/// of a placement, unless those that depend on it may be pushed aside themselves.
bool spared_of(const tables::Tables& tables, const model::Allocation& allocation, std::int64_t priority) {
  if (has_capsule(allocation)) return true;
  for (const auto& job : tables.jobs(allocation.ns)) {
    if (!job->stop && job->priority + kPreemptionDistance > priority && depends_on(*job, allocation.job_id))
      return true;
  }
  return false;
}

/// Records are decoded when they are read: only where there may be some.
bool has_sticky_volume(const model::Job& job) {
  return std::any_of(job.groups.begin(), job.groups.end(), [](const model::TaskGroup& group) {
    return std::any_of(group.volumes.begin(), group.volumes.end(),
                       [](const auto& volume) { return volume.second.sticky; });
  });
}

Situation situation_of(const tables::Tables& tables, tables::Row<model::Job> job, const std::string& ns,
                       const std::string& id, const Options& options) {
  Situation situation;
  situation.job = std::move(job);
  situation.allocations = tables.allocations_of_job(ns, id);
  situation.evaluations = tables.evaluations_of_job(ns, id);
  const auto& deployments = tables.deployments_of_job(ns, id);
  if (!deployments.empty()) situation.deployment = deployments.front();
  situation.stable = [&tables, ns, id]() -> tables::Row<model::Job> {
    for (const auto& version : tables.job_versions(ns, id)) {
      if (version->job.stable) return tables.find_job_version(ns, id, version->job.version);
    }
    return nullptr;
  };
  if (situation.job) {
    if (has_sticky_volume(*situation.job)) situation.claims = tables::claims_of_job(tables, ns, id);
    situation.rules = rules_of(tables, *situation.job);
    situation.quota = quota_of(tables, *situation.job);
  }
  // Asked for every allocation that might go, but there are few jobs with one answer.
  const auto answers = std::make_shared<std::map<std::pair<std::string, std::string>, bool>>();
  situation.spared = [&tables, answers](const model::Allocation& allocation, std::int64_t priority) {
    const auto [it, fresh] = answers->try_emplace({allocation.ns, allocation.job_id + "/" + allocation.group});
    if (fresh) it->second = spared_of(tables, allocation, priority);
    return it->second;
  };
  situation.on_node = [&tables](const std::string& node_id) {
    return std::span<const tables::Row<model::Allocation>>(tables.allocations_on_node(node_id));
  };
  if (options.home) {
    situation.home = [&tables, &options](const model::Job& of, const model::TaskGroup& group) {
      return options.home(tables, of, group);
    };
  }
  return situation;
}

}  // namespace

Plan schedule(const tables::Tables& tables, Fleet& fleet, const model::Evaluation& evaluation, const Context& context) {
  const auto situation = situation_of(tables, tables.find_job(evaluation.ns, evaluation.job_id), evaluation.ns,
                                      evaluation.job_id, context.options);
  return schedule(situation, fleet, evaluation, context);
}

Plan preview(const tables::Tables& tables, Fleet& fleet, tables::Row<model::Job> job, const Context& context) {
  model::Evaluation evaluation;
  evaluation.id = context.ids.uuid();
  evaluation.ns = job->ns;
  evaluation.job_id = job->id;
  evaluation.priority = job->priority;
  evaluation.type = job->type;
  return schedule(situation_of(tables, job, job->ns, job->id, context.options), fleet, evaluation, context);
}

}  // namespace underway::scheduler
