#pragma once
/// @file
/// What is decided of a job as a whole: which changes its running allocations take where they are, and its status.

#include "model/job/job.hpp"

namespace underway::scheduler {

/// Whether going from one to the other replaces running allocations (a field that its description marks destructive
/// changed), rather than updating them where they are.
bool tasks_updated(const model::TaskGroup& before, const model::TaskGroup& after);
/// The same for a group with its job (whose meta its tasks see).
bool tasks_updated(const model::Job& before, const model::Job& after, std::string_view group);

/// pending, running or dead, by Nomad's rule.
model::JobStatus status_of(const model::Job* job, bool has_live_allocation, bool has_open_evaluation, bool had_any);

}  // namespace underway::scheduler
