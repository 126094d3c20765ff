#include "scheduler/schedule.hpp"

#include "scheduler/planner/planner.hpp"
#include "tables/host_volumes.hpp"

namespace underway::scheduler {

Plan schedule(const Situation& situation, Fleet& fleet, const model::Evaluation& evaluation, const Context& context) {
  return Planner(situation, fleet, evaluation, context).run();
}

std::vector<tables::Change> Plan::take_changes() && {
  std::vector<tables::Change> changes;
  changes.reserve(created.size() + stopped.size() + preempted.size() + updated.size() + evaluations.size() +
                  deployments.size() + 2);
  // What stops comes first: who follows the changes one by one never sees a node hold both.
  for (auto* list : {&noted, &stopped, &preempted, &updated, &created}) {
    for (auto& allocation : *list) changes.emplace_back(tables::PutAllocation{std::move(allocation)});
  }
  for (auto& deployment : deployments) changes.emplace_back(tables::PutDeployment{std::move(deployment)});
  for (const auto& claim : claims) changes.push_back(tables::put_record(claim));
  changes.emplace_back(tables::PutEvaluation{std::move(evaluation)});
  for (auto& other : evaluations) changes.emplace_back(tables::PutEvaluation{std::move(other)});
  if ((job_status || stable) && job) {
    model::Job row = *job;
    row.status = job_status.value_or(row.status);
    row.stable |= stable;
    changes.emplace_back(tables::PutJob{std::move(row), std::nullopt});
  }
  return changes;
}

}  // namespace underway::scheduler
