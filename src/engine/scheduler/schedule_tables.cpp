#include "scheduler/schedule.hpp"

namespace underway::scheduler {

namespace {

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
