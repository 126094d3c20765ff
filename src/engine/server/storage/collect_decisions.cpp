#include "server/storage/collect_decisions.hpp"

#include <set>

#include "server/access/acl_decisions.hpp"
#include "server/job/dependencies.hpp"
#include "server/job/deployment_decisions.hpp"
#include "server/job/evaluation_decisions.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/node_decisions.hpp"

namespace underway::server {

using model::ClientStatus;

namespace {

using JobKey = std::pair<std::string, std::string>;

bool older(std::int64_t since_ns, Duration than, const Context& context) {
  return unix_nanos(context.now) - since_ns >= than.count();
}

/// Whether the job is over, and has been for as long as jobs are kept.
bool job_is_over(const Tables& tables, const model::Job& job, Duration keep, const Context& context) {
  if ((!job.stop && !job.runs_to_its_end()) || job.status != model::JobStatus::dead) return false;
  if (!older(job.submit_time, keep, context)) return false;
  const auto& allocations = tables.allocations_of_job(job.ns, job.id);
  const auto evaluations = tables.evaluations_of_job(job.ns, job.id);
  return std::all_of(allocations.begin(), allocations.end(),
                     [&](const auto& a) { return a->client_terminal() && older(a->modify_time, keep, context); }) &&
         std::all_of(evaluations.begin(), evaluations.end(),
                     [&](const auto& e) { return e->terminal() && older(e->modify_time, keep, context); });
}

std::set<JobKey> collect_jobs(Decision<Collected>& decision, const Tables& tables, Duration keep,
                              const Context& context) {
  std::set<JobKey> gone;
  for (const auto& job : tables.jobs()) {
    if (!job_is_over(tables, *job, keep, context)) continue;
    forget_job(decision.changes, job->ns, job->id);
    gone.emplace(job->ns, job->id);
    ++decision.result.jobs;
  }
  return gone;
}

/// Given up with its node, and not replaced: if the node comes back it goes on, however late that is.
bool may_come_back(const Tables& tables, const model::Allocation& allocation) {
  if (allocation.client_status != ClientStatus::lost || !allocation.next_allocation.empty()) return false;
  const auto job = tables.find_job(allocation.ns, allocation.job_id);
  const auto node = tables.find_node(allocation.node_id);
  const bool wanted = job && !job->stop && job->create_index <= allocation.create_index;
  return wanted && node && node->silent() && !replaced(tables, *job, allocation);
}

/// An allocation that the scheduler still counts with stays: a failed one until it is replaced, a finished one of a
/// batch job until the job goes.
bool allocation_is_over(const Tables& tables, const model::Allocation& allocation, const std::set<JobKey>& gone,
                        Duration keep, const Context& context) {
  if (!allocation.client_terminal() || !older(allocation.modify_time, keep, context)) return false;
  if (may_come_back(tables, allocation)) return false;
  if (allocation.server_terminal() || !allocation.next_allocation.empty()) return true;
  const auto job = tables.find_job(allocation.ns, allocation.job_id);
  return !job || job->stop || gone.contains({allocation.ns, allocation.job_id});
}

void collect_evaluations(Decision<Collected>& decision, const Tables& tables, const std::set<JobKey>& gone,
                         Duration keep, const Context& context) {
  for (const auto& evaluation : tables.evaluations()) {
    if (!evaluation->terminal() || !older(evaluation->modify_time, keep, context)) continue;
    const auto allocations = tables.allocations_of_evaluation(evaluation->id);
    const auto over = [&](const auto& a) { return allocation_is_over(tables, *a, gone, keep, context); };
    if (!std::all_of(allocations.begin(), allocations.end(), over)) continue;
    for (const auto& allocation : allocations) {
      decision.changes.push_back(tables::DeleteAllocation{allocation->id});
      ++decision.result.allocations;
    }
    decision.changes.push_back(tables::DeleteEvaluation{evaluation->id});
    ++decision.result.evaluations;
  }
}

void collect_nodes(Decision<Collected>& decision, const Tables& tables, Duration keep, const Context& context) {
  for (const auto& node : tables.nodes()) {
    if (node->status != model::NodeStatus::down || !older(node->status_updated_at * 1'000'000'000, keep, context))
      continue;
    const auto& allocations = tables.allocations_on_node(node->id);
    const auto needed = [&](const auto& a) { return !a->terminal() || may_come_back(tables, *a); };
    if (std::any_of(allocations.begin(), allocations.end(), needed)) continue;
    forget_node(decision.changes, node->id);
    ++decision.result.nodes;
  }
}

}  // namespace

Decision<Collected> decide(const Tables& tables, const Collect& request, const Context& context) {
  const auto& keep = request.keep;
  Decision<Collected> decision;
  const auto gone = collect_jobs(decision, tables, keep.jobs, context);
  collect_evaluations(decision, tables, gone, keep.evaluations, context);
  collect_deployments(decision.changes, tables, keep.evaluations, context);
  collect_nodes(decision, tables, keep.nodes, context);
  decision.result.tokens = collect_tokens(decision.changes, tables, keep.tokens, context);
  return decision;
}

}  // namespace underway::server
