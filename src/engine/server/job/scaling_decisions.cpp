#include "server/job/scaling_decisions.hpp"

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"

namespace underway::server {

using model::Job;

namespace {

void refuse_count(const Job& job, const model::TaskGroup& group, std::int64_t count) {
  if (count < 0) throw Error(Code::invalid, "scaling action count can't be negative");
  if (job.type == model::JobType::system || job.type == model::JobType::sysbatch) {
    throw Error(Code::invalid, fmt::format("cannot scale a job of type {}", describe::spell(job.type)))
        .because("it has one allocation on each node");
  }
  if (!group.scaling) return;
  if (group.scaling->min && count < *group.scaling->min) {
    throw Error(Code::invalid,
                fmt::format("group count was less than scaling policy minimum: {} < {}", count, *group.scaling->min));
  }
  if (group.scaling->max && count > *group.scaling->max) {
    throw Error(Code::invalid, fmt::format("group count was greater than scaling policy maximum: {} > {}", count,
                                           *group.scaling->max));
  }
}

void refuse_while_rolling_out(const Tables& tables, const Job& job) {
  const auto& deployments = tables.deployments_of_job(job.ns, job.id);
  if (deployments.empty() || !deployments.front()->active()) return;
  throw Error(Code::invalid, "job scaling blocked due to active deployment")
      .because(fmt::format("deployment {} is {}", deployments.front()->id.substr(0, 8),
                           describe::spell(deployments.front()->status)))
      .advise("wait for its end, or end it with `underway deployment fail`");
}

void note_event(std::vector<Change>& changes, const Tables& tables, const ScaleJob& request, std::int64_t previous,
                const std::string& eval_id, const Context& context) {
  auto row = tables::find_record<model::ScalingEvents>(tables, request.ns + "/" + request.id)
                 .value_or(model::ScalingEvents{request.ns, request.id});
  auto& events = row.groups[request.group];
  model::ScalingEvent event{unix_nanos(context.now), request.count, previous,
                            request.message,         request.error, request.meta};
  if (!eval_id.empty()) event.eval_id = eval_id;
  event.create_index = context.revision;
  events.insert(events.begin(), std::move(event));
  if (events.size() > model::kScalingEvents) events.resize(model::kScalingEvents);
  changes.push_back(tables::put_record(row));
}

/// A UUID of what the policy is about.
std::string policy_id(const Job& job, const std::string& group, const std::string& task, const std::string& type) {
  const std::string digest = hex(crypto::sha256(job.ns + '\n' + job.id + '\n' + group + '\n' + task + '\n' + type));
  return fmt::format("{}-{}-4{}-8{}-{}", digest.substr(0, 8), digest.substr(8, 4), digest.substr(12, 3),
                     digest.substr(15, 3), digest.substr(18, 12));
}

}  // namespace

Decision<Registered> decide(const Tables& tables, const ScaleJob& request, const Context& context) {
  const auto current = tables.find_job(request.ns, request.id);
  if (!current) {
    throw Error(Code::not_found, "job not found")
        .because(fmt::format("no job '{}' in namespace '{}'", request.id, request.ns));
  }
  if (request.error && request.count)
    throw Error(Code::invalid, "scaling action should not contain count if error is true");
  const model::TaskGroup* group = current->find_group(request.group);
  if (group == nullptr) {
    throw Error(Code::invalid,
                fmt::format("task group \"{}\" specified for scaling does not exist in job", request.group));
  }
  Decision<Registered> decision;
  decision.result.job_modify_index = current->job_modify_index;
  if (request.count) {
    if (current->stop) throw Error(Code::invalid, fmt::format("job '{}' is stopped", request.id));
    refuse_count(*current, *group, *request.count);
    refuse_while_rolling_out(tables, *current);
    Job wanted = *current;
    for (auto& candidate : wanted.groups) {
      if (candidate.name == request.group) candidate.count = *request.count;
    }
    std::optional<model::JobSubmission> submission;
    for (const auto& version : tables.job_versions(request.ns, request.id)) {
      if (version->job.version == current->version) submission = version->submission;
    }
    auto job = next_version(tables, std::move(wanted), context);
    const Job& standing = job ? *job : *current;
    decision.result.job_modify_index = standing.job_modify_index;
    if (!standing.starts_others()) {
      auto evaluation = new_evaluation(standing, model::EvalTrigger::job_scaling, context);
      decision.result.eval_id = evaluation.id;
      decision.changes.push_back(tables::PutEvaluation{std::move(evaluation)});
    }
    if (job) decision.changes.insert(decision.changes.begin(), tables::PutJob{std::move(*job), std::move(submission)});
  }
  note_event(decision.changes, tables, request, group->count, decision.result.eval_id, context);
  return decision;
}

std::vector<ScalingPolicy> scaling_policies(const Tables& tables, const std::string& ns) {
  std::vector<ScalingPolicy> found;
  for (const auto& job : tables.jobs(ns)) {
    if (job->stop) continue;
    for (const auto& group : job->groups) {
      if (group.scaling)
        found.push_back({policy_id(*job, group.name, "", group.scaling->type), job, group.name, "", &*group.scaling});
      for (const auto& task : group.tasks) {
        for (const auto& scaling : task.scaling)
          found.push_back({policy_id(*job, group.name, task.name, scaling.type), job, group.name, task.name, &scaling});
      }
    }
  }
  return found;
}

}  // namespace underway::server
