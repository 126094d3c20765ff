#pragma once
/// @file
/// `job plan`, and what commands that take a job file read.

#include "cli/context.hpp"
#include "cli/wire.hpp"

namespace underway::nomad {

/// The file or what lies at the URL, as HCL, or with -json as what `job inspect` and `job run -output` print.
cli::LoadedJob load_job_of(const cli::Arguments& arguments);

int job_plan(const cli::Arguments& arguments);

/// 1 when the plan (the wire's) would create, move or stop an allocation, else 0. A change in place is none.
int plan_exit_code(const cli::Json& plan);
/// What `job plan` prints of it: the dry run, warnings and what would be evicted.
std::string dry_run_text(const cli::Json& plan, const model::Job& job);

}  // namespace underway::nomad
