#pragma once
/// @file
/// `nomad job status`, which `nomad status` is for jobs.

#include <optional>

#include "cli/wire.hpp"

namespace underway::nomad {

int job_status(const cli::Arguments& arguments);

/// Of a job's evaluations: what the newest that found no room could not place, for as long as one waits for room; else
/// nothing.
std::string placement_failure_text(const boost::json::array& evaluations);
/// Until when an evaluation waits, in nanoseconds; absent when it does not, or is forgotten.
std::optional<std::int64_t> wait_of(cli::Api& api, const std::string& evaluation);

}  // namespace underway::nomad
