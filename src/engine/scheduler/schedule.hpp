#pragma once
/// @file
/// From state and an evaluation to a plan. Deterministic: the same state, evaluation, `now` and ids give the same plan.

#include "scheduler/fleet/fleet.hpp"
#include "scheduler/plan.hpp"

namespace underway::scheduler {

/// Decides what `evaluation` asks for. The fleet must follow the same tables; it is left as it was.
/// An evaluation whose `wait_until` lies in the future is the caller's to hold back.
Plan schedule(const Situation& situation, Fleet& fleet, const model::Evaluation& evaluation, const Context& context);
Plan schedule(const tables::Tables& tables, Fleet& fleet, const model::Evaluation& evaluation, const Context& context);
/// What would happen if `job` were registered now: the tables' job of that id is not looked at, its allocations are.
Plan preview(const tables::Tables& tables, Fleet& fleet, tables::Row<model::Job> job, const Context& context);

/// Whether a change of `changed` (more capacity, new, eligible again) could let the blocked evaluation place more.
bool could_unblock(const model::Evaluation& blocked, const model::Node& changed);

/// Whether more room in the quota could.
bool could_unblock(const model::Evaluation& blocked, std::string_view quota);

/// Lines as `job plan` prints them below "WARNING: Failed to place all allocations": `* Constraint "${attr.kernel.name}
/// = linux": 3 nodes excluded by filter`. Empty when nothing is wrong.
std::vector<std::string> explain(const model::AllocMetric& metric);

}  // namespace underway::scheduler
