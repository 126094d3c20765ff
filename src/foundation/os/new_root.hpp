#pragma once
/// @file
/// What somebody finds in a root that was made for him, be it a host, a capsule or a task, as steps of a LaunchPlan:
/// the kernel's file systems, a /dev of his own, directories in memory. Which of them a root has is its maker's matter;
/// how each is mounted is said here. Targets are paths as the plan sees them, and exist. A mount that may fail is added
/// to `plan.optionally()`.

#include <sys/types.h>

#include <string>
#include <vector>

#include "os/process/launch_plan.hpp"

namespace underway::os {

/// Of the plan's process numbers.
void mount_proc(LaunchPlan& plan, const std::string& target);
/// Makes read-only what root inside could change the machine through. After mount_proc, of the same target.
void guard_proc(LaunchPlan& plan, const std::string& target);
/// Of the plan's network namespace.
void mount_sysfs(LaunchPlan& plan, const std::string& target, bool read_only = false);
/// An empty /sys/fs/cgroup, for directories on which hierarchies are mounted.
void mount_cgroup_directory(LaunchPlan& plan, const std::string& target);

struct DeviceNode {
  std::string path;  ///< below /dev: "null", "net/tun"
  mode_t type_and_mode = 0;
  dev_t device = 0;
};

/// A /dev of its own: null, zero, urandom and their like are the machine's; terminals, shared memory and message queues
/// are not. `size` is that of the file system in memory which it is, as in tmpfs(5).
void mount_devices(LaunchPlan& plan, const std::string& dev, const std::string& size);
/// The same as a machine has it, with these device files and no others.
void mount_machine_devices(LaunchPlan& plan, const std::string& dev, const std::vector<DeviceNode>& nodes);

/// A file system in memory, whose set-id bits and device files do not count. `options` as in tmpfs(5):
/// "size=64m,mode=755".
void mount_memory(LaunchPlan& plan, const std::string& target, const std::string& options);
/// /run and /tmp in memory, below `root`.
void mount_run_and_tmp(LaunchPlan& plan, const std::string& root);
/// An empty directory that nobody can write to, over one that shall not be seen.
void cover_directory(LaunchPlan& plan, const std::string& target);

}  // namespace underway::os
