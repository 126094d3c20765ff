#include "server/detail/rollback.hpp"

#include "server/access/namespace_decisions.hpp"
#include "server/job/job_decisions.hpp"

namespace underway::server::detail {

using model::Deployment;

std::string evaluate(std::vector<Change>& changes, const Tables& tables, const Deployment& deployment,
                     const Context& context) {
  const auto job = tables.find_job(deployment.ns, deployment.job_id);
  if (!job) return {};
  for (const auto& pending : tables.pending_evaluations()) {
    if (pending->job_id == job->id && pending->ns == job->ns && pending->wait_until == 0 && pending->node_id.empty())
      return pending->id;
  }
  auto evaluation = new_evaluation(*job, model::EvalTrigger::deployment_watcher, context);
  evaluation.deployment_id = deployment.id;
  const std::string id = evaluation.id;
  changes.push_back(tables::PutEvaluation{std::move(evaluation)});
  return id;
}

namespace {

/// The row as `changes` leave it, to be changed further; null when there is none.
model::Allocation* changing(std::vector<Change>& changes, const Tables& tables, const std::string& id) {
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    auto* put = std::get_if<tables::PutAllocation>(&*it);
    if (put != nullptr && put->allocation.id == id) return &put->allocation;
  }
  const auto row = tables.find_allocation(id);
  if (!row) return nullptr;
  changes.push_back(tables::PutAllocation{*row});
  return &std::get<tables::PutAllocation>(changes.back()).allocation;
}

/// The newest earlier version of which something works at this moment; nothing when there is none.
std::optional<std::int64_t> works_beside(const Tables& tables, const model::Job& job) {
  std::optional<std::int64_t> newest;
  for (const auto& row : tables.allocations_of_job(job.ns, job.id)) {
    const bool works = row->is_healthy() || row->is_ready();
    if (!row->terminal() && works && row->job_version < job.version)
      newest = std::max(newest.value_or(row->job_version), row->job_version);
  }
  return newest;
}

/// What the job goes back to: the newest version that once was rolled out; null when there is none.
tables::Row<tables::JobVersion> version_to_go_back_to(const Tables& tables, const model::Job& job) {
  const auto versions = tables.job_versions(job.ns, job.id);
  for (const auto& version : versions) {
    if (version->job.stable && version->job.version != job.version) return version;
  }
  // A cluster that was changed a moment after it came up has no stable version yet, and a slurmd that works all the
  // same.
  const auto works = job.cluster.empty() ? std::nullopt : works_beside(tables, job);
  for (const auto& version : versions) {
    if (works && version->job.version == *works) return version;
  }
  return nullptr;
}

}  // namespace

bool promotes_itself(const Deployment& deployment, const std::function<bool(const std::string& canary)>& healthy) {
  if (deployment.status != model::DeploymentStatus::running || !deployment.requires_promotion()) return false;
  return std::all_of(deployment.groups.begin(), deployment.groups.end(), [&](const auto& entry) {
    const model::DeploymentState& state = entry.second;
    if (state.desired_canaries == 0 || state.promoted) return true;
    const auto& canaries = state.placed_canaries;
    return state.auto_promote && static_cast<std::int64_t>(canaries.size()) >= state.desired_canaries &&
           std::all_of(canaries.begin(), canaries.end(), healthy);
  });
}

bool fails_at_once(const Tables& tables, const Deployment& deployment) {
  if (deployment.status != model::DeploymentStatus::running) return false;
  bool goes_back = false;
  for (const auto& [name, state] : deployment.groups) {
    if (state.unhealthy_allocs == 0) continue;
    if (state.progress_deadline == Duration{0}) return true;
    goes_back |= state.auto_revert;
  }
  if (!goes_back) return false;
  const auto job = tables.find_job(deployment.ns, deployment.job_id);
  return job && !job->cluster.empty() && job->version == deployment.job_version &&
         version_to_go_back_to(tables, *job) != nullptr;
}

void promote(std::vector<Change>& changes, const Tables& tables, Deployment& deployment,
             const std::vector<std::string>& groups, const Context& context) {
  const std::int64_t now = unix_nanos(context.now);
  for (auto& [name, state] : deployment.groups) {
    const bool meant = groups.empty() || std::find(groups.begin(), groups.end(), name) != groups.end();
    if (!meant || state.desired_canaries == 0 || state.promoted) continue;
    state.promoted = true;
    if (state.progress_deadline > Duration{0}) state.require_progress_by = now + state.progress_deadline.count();
    for (const auto& id : state.placed_canaries) {
      model::Allocation* canary = changing(changes, tables, id);
      if (canary == nullptr) continue;
      canary->health.canary = false;
      canary->modify_time = now;
      canary->alloc_modify_index = Tables::kThisRevision;
    }
  }
  if (!deployment.requires_promotion()) deployment.status_description = kRunning;
}

Failed fail(std::vector<Change>& changes, const Tables& tables, Deployment deployment, std::string why,
            const Context& context) {
  Failed failed;
  deployment.status = model::DeploymentStatus::failed;
  deployment.modify_time = unix_nanos(context.now);
  const auto job = tables.find_job(deployment.ns, deployment.job_id);
  const bool reverts = std::any_of(deployment.groups.begin(), deployment.groups.end(),
                                   [](const auto& entry) { return entry.second.auto_revert; });
  if (reverts && job && !job->stop && job->version == deployment.job_version) {
    const auto target = version_to_go_back_to(tables, *job);
    const auto ns = find_namespace(tables, job->ns);
    const bool allowed = target && ns && model::refusals(*ns, target->job, context.root_by_raw_exec).empty();
    std::optional<model::Job> back;
    if (allowed) {
      model::Job wanted = target->job;
      wanted.cluster = job->cluster;
      back = next_version(tables, std::move(wanted), context);
    }
    if (!target) {
      why += " - no stable job version to auto revert to";
    } else if (!allowed) {
      why += fmt::format(" - not rolling back to stable job version {} as the namespace does not allow it any more",
                         target->job.version);
    } else if (!back) {
      why += fmt::format(" - not rolling back to stable job version {} as current job has same specification",
                         target->job.version);
    } else {
      why += fmt::format(" - rolling back to job version {}", target->job.version);
      failed.reverted_version = target->job.version;
      changes.push_back(tables::PutJob{std::move(*back), target->submission});
    }
  }
  deployment.status_description = std::move(why);
  failed.eval_id = evaluate(changes, tables, deployment, context);
  changes.push_back(tables::PutDeployment{std::move(deployment)});
  return failed;
}

}  // namespace underway::server::detail
