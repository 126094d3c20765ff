#include "server/job/deployment_decisions.hpp"

#include "base/error.hpp"
#include "server/access/namespace_decisions.hpp"
#include "server/detail/rollback.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::server {

using model::Deployment;
using model::DeploymentState;
using model::DeploymentStatus;

namespace {

/// What is wrong is told in Nomad's words and no others: its clients compare the whole of them.
Deployment get_active(const Tables& tables, const std::string& id, const char* action) {
  const auto row = tables.find<Deployment>(id);
  if (!row) throw Error(Code::not_found, "deployment not found");
  if (row->active()) return *row;
  throw Error(Code::invalid, fmt::format("can't {} terminal deployment", action));
}

/// Waits for a person rather than for allocations, or for nothing.
bool needs_no_progress(const DeploymentState& state) {
  const bool canarying = state.desired_canaries > 0 && !state.promoted;
  return state.healthy_allocs >= (canarying ? state.desired_canaries : state.desired_total);
}

/// When the deployment is to have moved on; nothing when it need not.
std::optional<std::int64_t> deadline_of(const Deployment& deployment) {
  if (deployment.status != DeploymentStatus::running) return std::nullopt;
  std::optional<std::int64_t> first;
  for (const auto& [name, state] : deployment.groups) {
    if (state.require_progress_by == 0 || needs_no_progress(state)) continue;
    first = std::min(first.value_or(state.require_progress_by), state.require_progress_by);
  }
  return first;
}

/// As if its last progress was now.
void give_time_anew(Deployment& deployment, const Context& context) {
  for (auto& [name, state] : deployment.groups) {
    if (state.require_progress_by > 0)
      state.require_progress_by = unix_nanos(context.now) + state.progress_deadline.count();
  }
}

bool promotes_itself(const Tables& tables, const Deployment& deployment) {
  return detail::promotes_itself(deployment, [&](const std::string& canary) {
    const auto row = tables.find_allocation(canary);
    return row && row->is_healthy();
  });
}

}  // namespace

std::optional<std::int64_t> next_deployment_deadline(const Tables& tables) {
  std::optional<std::int64_t> next;
  for (const auto& row : tables.rows<Deployment>()) {
    if (promotes_itself(tables, *row) || detail::fails_at_once(tables, *row)) return 0;
    if (const auto due = deadline_of(*row)) next = std::min(next.value_or(*due), *due);
  }
  return next;
}

Decision<std::vector<std::string>> decide(const Tables& tables, const EnforceDeploymentDeadlines&,
                                          const Context& context) {
  Decision<std::vector<std::string>> decision;
  for (const auto& row : tables.rows<Deployment>()) {
    if (promotes_itself(tables, *row)) {
      Deployment promoted = *row;
      detail::promote(decision.changes, tables, promoted, {}, context);
      detail::evaluate(decision.changes, tables, promoted, context);
      decision.changes.push_back(tables::PutDeployment{std::move(promoted)});
      continue;
    }
    if (detail::fails_at_once(tables, *row)) {
      detail::fail(decision.changes, tables, *row, detail::kUnhealthy, context);
      continue;
    }
    const auto due = deadline_of(*row);
    if (!due || *due > unix_nanos(context.now)) continue;
    detail::fail(decision.changes, tables, *row, detail::kNoProgress, context);
    decision.result.push_back(row->id);
  }
  return decision;
}

Decision<Nothing> decide(const Tables& tables, const RenewDeploymentDeadlines&, const Context& context) {
  Decision<Nothing> decision;
  for (const auto& row : tables.rows<Deployment>()) {
    if (row->status != DeploymentStatus::running) continue;
    Deployment deployment = *row;
    give_time_anew(deployment, context);
    detail::evaluate(decision.changes, tables, deployment, context);  // counts anew what there is
    decision.changes.push_back(tables::PutDeployment{std::move(deployment)});
  }
  return decision;
}

Decision<DeploymentUpdated> decide(const Tables& tables, const PromoteDeployment& request, const Context& context) {
  const auto& [id, groups] = request;
  Deployment deployment = get_active(tables, id, "promote");
  Error error(Code::invalid, "the deployment cannot be promoted");
  bool any = false;
  for (const auto& name : groups) {
    if (!deployment.groups.contains(name)) error.because(fmt::format("it has no group '{}'", name));
  }
  for (const auto& [name, state] : deployment.groups) {
    const bool meant = groups.empty() || std::find(groups.begin(), groups.end(), name) != groups.end();
    if (!meant || state.desired_canaries == 0 || state.promoted) continue;
    any = true;
    const auto healthy =
        std::count_if(state.placed_canaries.begin(), state.placed_canaries.end(), [&](const std::string& canary) {
          const auto row = tables.find_allocation(canary);
          return row && row->is_healthy();
        });
    if (healthy < state.desired_canaries)
      error.because(
          fmt::format("Task group \"{}\" has {}/{} healthy allocations", name, healthy, state.desired_canaries));
  }
  if (!any) error.because("no canaries to promote");
  if (!error.reasons().empty()) throw error;
  Decision<DeploymentUpdated> decision;
  detail::promote(decision.changes, tables, deployment, groups, context);
  deployment.modify_time = unix_nanos(context.now);
  decision.result.eval_id = detail::evaluate(decision.changes, tables, deployment, context);
  decision.changes.push_back(tables::PutDeployment{std::move(deployment)});
  return decision;
}

Decision<DeploymentUpdated> decide(const Tables& tables, const FailDeployment& request, const Context& context) {
  const auto& id = request.id;
  Decision<DeploymentUpdated> decision;
  auto failed = detail::fail(decision.changes, tables, get_active(tables, id, "fail"), detail::kFailedByUser, context);
  decision.result = {std::move(failed.eval_id), failed.reverted_version};
  return decision;
}

Decision<DeploymentUpdated> decide(const Tables& tables, const PauseDeployment& request, const Context& context) {
  const auto& [id, pause] = request;
  Deployment deployment = get_active(tables, id, pause ? "pause" : "resume");
  Decision<DeploymentUpdated> decision;
  if ((deployment.status == DeploymentStatus::paused) == pause) return decision;
  deployment.status = pause ? DeploymentStatus::paused : DeploymentStatus::running;
  deployment.status_description = pause ? detail::kPaused : detail::kRunning;
  deployment.modify_time = unix_nanos(context.now);
  if (pause) {
    decision.changes.push_back(tables::PutDeployment{std::move(deployment)});
    return decision;
  }
  give_time_anew(deployment, context);
  DeploymentProgress progress(tables, context);
  progress.resume(std::move(deployment));
  decision.result.eval_id = progress.conclude(decision.changes);
  return decision;
}

Decision<DeploymentUpdated> decide(const Tables& tables, const SetAllocationHealth& request, const Context& context) {
  const auto& [id, verdicts] = request;
  const Deployment deployment = get_active(tables, id, "set health of allocations for a");
  Decision<DeploymentUpdated> decision;
  DeploymentProgress progress(tables, context);
  const auto judge = [&](const std::string& allocation_id, bool healthy) {
    const auto row = tables.find_allocation(allocation_id);
    if (!row || row->deployment_id != deployment.id) {
      throw Error(Code::invalid, fmt::format("allocation '{}' is not part of the deployment", allocation_id));
    }
    model::Allocation judged = *row;
    judged.health.healthy = healthy;
    judged.health.timestamp = judged.modify_time = unix_nanos(context.now);
    judged.health.description = "set by an operator";
    progress.note(*row, judged);
    decision.changes.push_back(tables::PutAllocation{std::move(judged)});
  };
  for (const auto& allocation : verdicts.healthy) judge(allocation, true);
  for (const auto& allocation : verdicts.unhealthy) judge(allocation, false);
  decision.result.eval_id = progress.conclude(decision.changes);
  return decision;
}

Decision<Reverted> decide(const Tables& tables, const RevertJob& request, const Context& context) {
  const auto current = tables.find_job(request.ns, request.id);
  if (!current) throw Error(Code::not_found, "job not found");
  if (request.enforce_prior_version && *request.enforce_prior_version != current->version) {
    throw Error(Code::invalid, fmt::format("Current job has version {}; enforcing version {}", current->version,
                                           *request.enforce_prior_version));
  }
  if (request.version == current->version)
    throw Error(Code::invalid, fmt::format("can't revert to current version {}", current->version));
  for (const auto& version : tables.job_versions(request.ns, request.id)) {
    if (version->job.version != request.version) continue;
    model::Job wanted = version->job;
    wanted.cluster = current->stop ? std::string() : current->cluster;
    refuse_by_namespace(tables, wanted, {}, context);
    Decision<Reverted> decision;
    auto registered = register_into(decision.changes, tables, {std::move(wanted), version->submission, {}}, context);
    decision.result = {std::move(registered.eval_id), registered.job_modify_index};
    return decision;
  }
  throw Error(Code::not_found, fmt::format("job \"{}\" in namespace \"{}\" at version {} not found", request.id,
                                           request.ns, request.version));
}

Decision<Nothing> decide(const Tables& tables, const MarkStable& request, const Context&) {
  const auto& [ns, id, version, stable] = request;
  const auto current = tables.find_job(ns, id);
  if (!current) throw Error(Code::not_found, "job not found");
  Decision<Nothing> decision;
  const auto say = [&](model::Job job) {
    if (job.stable == stable) return;
    job.stable = stable;
    decision.changes.push_back(tables::PutJob{std::move(job), std::nullopt});
  };
  if (version == current->version) {
    say(*current);
    return decision;
  }
  for (const auto& known : tables.job_versions(ns, id)) {
    if (known->job.version != version) continue;
    say(known->job);
    return decision;
  }
  throw Error(Code::not_found, fmt::format("job '{}' has no version {}", id, version))
      .advise(fmt::format("`underway job history {}` lists the versions that are kept", id));
}

std::int64_t collect_deployments(std::vector<Change>& changes, const Tables& tables, Duration keep,
                                 const Context& context) {
  std::int64_t collected = 0;
  for (const auto& row : tables.rows<Deployment>()) {
    const bool old = unix_nanos(context.now) - row->modify_time >= keep.count();
    if (row->active() || !old) continue;
    const bool newest = tables.deployments_of_job(row->ns, row->job_id).front()->id == row->id;
    if (newest && tables.find_job(row->ns, row->job_id)) continue;
    changes.push_back(tables::DeleteDeployment{row->id});
    ++collected;
  }
  return collected;
}

}  // namespace underway::server
