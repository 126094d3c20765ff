#pragma once
/// @file
/// `nomad job status`, which `nomad status` is for jobs.

#include "cli/command.hpp"

namespace underway::nomad {

int job_status(const cli::Arguments& arguments);

}  // namespace underway::nomad
