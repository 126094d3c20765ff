#include "server/job/evaluation_decisions.hpp"

#include <set>

#include "base/error.hpp"

namespace underway::server {

Change awake(const model::Evaluation& blocked, const Context& context) {
  model::Evaluation evaluation = blocked;
  evaluation.status = model::EvalStatus::pending;
  evaluation.status_description.clear();
  evaluation.triggered_by = model::EvalTrigger::queued_allocs;
  evaluation.modify_time = unix_nanos(context.now);
  return tables::PutEvaluation{std::move(evaluation)};
}

Decision<std::size_t> decide(const Tables& tables, const DeleteEvaluations& request, const Context&) {
  const auto& ids = request.ids;
  if (ids.size() > kMostDeletedEvaluations)
    throw Error(Code::invalid, "too many evaluations in one request")
        .because(fmt::format("{} are named, {} may be", ids.size(), kMostDeletedEvaluations));
  Decision<std::size_t> decision;
  for (const auto& id : std::set<std::string>(ids.begin(), ids.end())) {
    const auto evaluation = tables.find_evaluation(id);
    if (!evaluation && request.found) continue;
    if (!evaluation) throw Error(Code::not_found, "eval not found").because(id);
    const auto allocations = tables.allocations_of_evaluation(id);
    const bool needed =
        std::any_of(allocations.begin(), allocations.end(), [](const auto& a) { return !a->terminal(); });
    // What runs tells by it why it is there.
    if (needed)
      throw Error(Code::conflict, fmt::format("eval {} is not safe to delete", id))
          .because("allocations that it placed have not ended");
    decision.changes.push_back(tables::DeleteEvaluation{id});
  }
  decision.result = decision.changes.size();
  return decision;
}

}  // namespace underway::server
