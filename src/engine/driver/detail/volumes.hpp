#pragma once
/// @file
/// Directories of the machine in the file tree of an exec task (TaskSpec::mounts). The tree shows the machine's own
/// read-only, so a mount point that the machine lacks is made without touching the machine: its nearest directory that
/// is there is rebuilt in memory, entry by entry, with the new one beside them.
///
/// Order in the plan: leave_mounts first, add_mount_points while the tree may be written, attach_mounts when it is
/// complete and before it becomes the root.

#include "driver/driver.hpp"
#include "os/process/launch_plan.hpp"

namespace underway::driver::detail {

/// Makes mount points in directories that the task may write to. Follows no link of the task's making.
/// Errors: invalid for a destination where nothing may be mounted; not_found when a source is missing.
void prepare_mounts(const TaskSpec& spec);

/// From here on mounts are the task's own: none goes from here to the machine, or (but for host-to-task) back.
void leave_mounts(os::LaunchPlan& plan, const TaskSpec& spec);
void add_mount_points(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root);
void attach_mounts(os::LaunchPlan& plan, const TaskSpec& spec, const std::string& root);

}  // namespace underway::driver::detail
