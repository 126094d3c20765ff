#include "server/detail/reports.hpp"

#include <set>

#include "server/job/dependencies.hpp"
#include "server/job/deployment_decisions.hpp"
#include "server/job/job_decisions.hpp"
#include "server/node/move_decisions.hpp"

namespace underway::server::detail {

using model::ClientStatus;
using model::EvalTrigger;

namespace {

/// An answer to an earlier wish says nothing of the present one. What could not be put to sleep is not tried for ever.
void note_sleep(model::Allocation& row, const model::AllocationUpdate& update) {
  if (!row.sleep || !update.sleep || update.sleep->of != row.sleep->since) return;
  row.sleep->asleep = update.sleep->asleep;
  if (update.sleep->trouble.empty() || !row.sleep->wanted) return;
  row.sleep->trouble = update.sleep->trouble;
  row.sleep->wanted = false;
}

/// The row as the node reports it; nothing when that is no news.
std::optional<model::Allocation> reported(const model::Allocation& current, const model::AllocationUpdate& update) {
  model::Allocation row = current;
  row.client_status = update.client_status;
  row.client_description = update.client_description;
  row.task_states = update.task_states;
  row.health.ready = update.health.ready;
  if (update.network_status) row.network_status = update.network_status;
  note_sleep(row, update);
  const bool arrives = row.awaits_machines() && update.arrival && update.arrival->phase > row.arrival->phase;
  // Lost is our guess, which the node may correct; the other ends are what the node itself has seen.
  const bool ended = current.client_terminal() && current.client_status != ClientStatus::lost;
  const bool of_this_version = !update.job_version || (*update.job_version == current.job_version &&
                                                       update.deployment_id == current.deployment_id);
  if (update.health.healthy && of_this_version && !ended) {
    row.health.healthy = update.health.healthy;
    row.health.timestamp = update.health.timestamp;
    row.health.description = update.health.description;
  }
  if ((ended && !row.client_terminal()) || (!arrives && describe::equal(current, row))) return std::nullopt;
  return row;
}

/// One that was unknown is heard of: that is all, unless something has taken its place; then one of them is chosen.
void heard_again(std::vector<Change>& changes, const Tables& tables, model::Allocation& row, const Context& context) {
  if (row.unknown_since == 0 || row.client_status == ClientStatus::unknown) return;
  const auto job = tables.find_job(row.ns, row.job_id);
  row.follow_up_eval.clear();
  if (!row.terminal() && job && !job->stop && replaced(tables, *job, row)) {
    changes.push_back(tables::PutEvaluation{new_evaluation(*job, EvalTrigger::reconnect, context)});
  } else {
    row.unknown_since = 0;
  }
}

}  // namespace

bool enter_reports(std::vector<Change>& changes, const Tables& tables, const std::string& node_id,
                   const std::vector<model::AllocationUpdate>& updates, const Context& context, const Revise& revise) {
  DeploymentProgress progress(tables, context);
  std::set<std::pair<std::string, std::string>> ended_early;
  bool freed = false;
  for (const auto& update : updates) {
    const auto current = tables.find_allocation(update.id);
    if (!current || current->node_id != node_id) continue;
    auto row = reported(*current, update);
    if (!row) continue;
    row->modify_time = unix_nanos(context.now);
    heard_again(changes, tables, *row, context);
    if (revise) revise(current, *row);
    if (update.arrival) note_arrival(changes, tables, *row, *update.arrival, context);
    if (is_leaving(*row) && row->sleep && !row->sleep->trouble.empty() && !row->sleep->wanted)
      stay(changes, tables, *row, row->sleep->trouble, context);
    // The node has to hear that they are not to sleep any more.
    if (current->sleep && current->sleep->wanted && !row->sleep->wanted) row->alloc_modify_index = context.revision;
    freed = freed || (row->sleeps() && !current->sleeps());
    if (row->client_terminal() && !current->client_terminal()) {
      const bool done = row->client_status == ClientStatus::complete && row->job && row->job->runs_to_its_end();
      if (!row->server_terminal() && !done) ended_early.emplace(row->ns, row->job_id);
      freed = true;
    }
    progress.note(*current, *row);
    changes.push_back(tables::PutAllocation{std::move(*row)});
  }
  progress.conclude(changes);
  for (const auto& [ns, id] : ended_early) {
    const auto job = tables.find_job(ns, id);
    if (job && !job->stop)
      changes.push_back(tables::PutEvaluation{new_evaluation(*job, EvalTrigger::alloc_failure, context)});
  }
  return freed;
}

}  // namespace underway::server::detail
