#include "server/job/clock_decisions.hpp"

namespace underway::server {
namespace {

/// A clock that is slewed loses a second in half an hour; one that is set, for good reasons, by more.
constexpr Duration kJump = std::chrono::seconds(10);

void move(std::int64_t& time, Duration by) { time += std::chrono::nanoseconds(by).count(); }

}  // namespace

Decision<Nothing> decide(const Tables& tables, const FollowClock& request, const Context&) {
  const auto& by = request.by;
  Decision<Nothing> decision;
  auto& changes = decision.changes;
  for (const auto& row : tables.pending_evaluations()) {
    if (row->wait_until == 0) continue;
    model::Evaluation moved = *row;
    move(moved.wait_until, by);
    changes.push_back(tables::PutEvaluation{std::move(moved)});
  }
  for (const auto& node : tables.nodes()) {
    for (const auto& row : tables.allocations_on_node(node->id)) {
      const bool waits = !row->follow_up_eval.empty();  // to be replaced, so long after it ended
      if (row->unknown_since == 0 && !waits) continue;
      model::Allocation moved = *row;
      if (row->unknown_since != 0) move(moved.unknown_since, by);
      if (waits) {
        move(moved.create_time, by);
        move(moved.modify_time, by);
        for (auto& event : moved.reschedules) move(event.time, by);
      }
      changes.push_back(tables::PutAllocation{std::move(moved)});
    }
    if (!node->drain || node->drain->force_deadline == 0) continue;
    model::Node moved = *node;
    move(moved.drain->force_deadline, by);
    changes.push_back(tables::PutNode{std::move(moved)});
  }
  for (const auto& row : tables.rows<model::Deployment>()) {
    if (row->status != model::DeploymentStatus::running && row->status != model::DeploymentStatus::paused) continue;
    model::Deployment moved = *row;
    for (auto& [name, group] : moved.groups)
      if (group.require_progress_by != 0) move(group.require_progress_by, by);
    changes.push_back(tables::PutDeployment{std::move(moved)});
  }
  for (const auto& row : tables.rows<model::VariableLease>()) {
    model::VariableLease moved = *row;
    move(moved.until, by);
    changes.push_back(tables::PutLease{std::move(moved)});
  }
  return decision;
}

Duration ClockWatch::look(TimePoint now, std::chrono::steady_clock::time_point steady) {
  const auto offset = std::chrono::duration_cast<Duration>(now.time_since_epoch() - steady.time_since_epoch());
  const Duration by = offset_ ? offset - *offset_ : Duration{0};
  offset_ = offset;
  return std::chrono::abs(by) < kJump ? Duration{0} : by;
}

}  // namespace underway::server
