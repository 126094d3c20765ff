#pragma once
/// @file
/// What is wrong with a task's `config`, by the driver that it names. Pure.

#include "model/job/job.hpp"

namespace underway::drivers {

/// All at once, each beginning with its key: "config.ulimit: is not known; did you mean 'ulimits'?". Empty for a driver
/// that is not ours. Values that wait for a variable (`${…}`) are not judged, nor what only some nodes allow.
std::vector<std::string> config_problems(const model::Task& task);

}  // namespace underway::drivers
