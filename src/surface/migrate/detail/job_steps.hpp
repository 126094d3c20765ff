#pragma once
/// @file
/// The part of a plan that is about jobs.

#include "migrate/plan.hpp"

namespace underway::migrate::detail {

/// Appends a step for each job of the source, those first that others depend on. The steps of namespaces must be there.
void add_job_steps(Plan& plan, const Inventory& source, const Inventory& there, const PlanOptions& options);

/// The request body that registers `job`, stopped or running, if it is still at `index` (0: not there yet).
std::string registration(const model::Job& job, bool runs, const std::optional<model::JobSubmission>& submission,
                         model::Revision index);

}  // namespace underway::migrate::detail
