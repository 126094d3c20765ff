#pragma once
/// @file
/// What `job plan` and `job history -p` show: the difference of two versions of a job, in the layout that scripts and
/// reviewers of that client know.

#include "cli/wire.hpp"
#include "model/job/job.hpp"

namespace underway::nomad {

/// Of the wire's JobDiff. What a new part holds is shown with `verbose` only: its defaults would hide the rest. Counts
/// behind a group ("1 create, 2 ignore") are its own Updates, else those of `updates` (DesiredTGUpdates).
std::string job_diff_text(const cli::Json& diff, bool verbose, const cli::Json& updates = nullptr);

/// The wire's diff leaves out what did not change; shown are all groups and tasks of the job, by name.
cli::Json with_unchanged(cli::Json diff, const model::Job& job);

}  // namespace underway::nomad
