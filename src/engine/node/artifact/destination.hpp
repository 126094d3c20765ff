#pragma once
/// @file
/// Where what a job file names lies on disk.

#include <string>
#include <string_view>

#include "node/task/environment.hpp"

namespace underway::node {

/// Where a path of the job file lies below the allocation's directory: relative to the task's directory, or one of the
/// task's own absolute names (NOMAD_TASK_DIR, …). Errors: denied when it is outside of the task's and the shared
/// directory.
std::string resolve_destination(std::string_view path, std::string_view task, const std::string& allocation_root,
                                const TaskPaths& view);

}  // namespace underway::node
