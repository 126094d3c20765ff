#pragma once
/// @file
/// Who depends on a job, for whoever is about to stop it.

#include "model/job/job.hpp"

namespace underway::cli {

/// A line for each way in which `other` (or a group of it) depends on `job_id`: what becomes of it when that stops.
/// Empty: it does not.
std::vector<std::string> dependence(const model::Job& other, const std::string& job_id);

}  // namespace underway::cli
