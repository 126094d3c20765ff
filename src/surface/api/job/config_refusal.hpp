#pragma once
/// @file
/// Jobs whose tasks no node would start, as their drivers refuse what their configs say.

#include <vector>

#include "model/job/job.hpp"

namespace underway::api {

/// Throws invalid with all that the drivers have against the configs of the jobs' tasks (drivers/config_problems.hpp).
void refuse_configs(const std::vector<const model::Job*>& jobs);

}  // namespace underway::api
