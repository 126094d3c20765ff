#pragma once
/// @file
/// What the first process of a capsule does before it becomes its init: a value, so that it can be read and tested
/// without a kernel. It starts in fresh mount, process, uts and IPC namespaces with the host's mounts, in the capsule's
/// network namespace.

#include <string>
#include <utility>
#include <vector>

#include "os/process/capability.hpp"
#include "os/process/launch_plan.hpp"
#include "run/root/layer.hpp"

namespace underway::run {

struct PlanBind {
  std::string source;
  std::string target;  ///< in the capsule, free of links
  bool read_only = false;
  bool directory = true;
};

struct PlanInput {
  /// Holds `image` (mounted), `layer`, `overlay`, `root` and `control`, with `spec` and an empty file `init` in it.
  std::string directory;
  /// Holds `upper` and `work` of the overlay.
  std::string overlay;
  std::string init_program;
  std::string hostname;
  std::vector<std::string> join_cgroup;
  /// The capsule's own group in each hierarchy, and where the hierarchy is mounted: "/sys/fs/cgroup/memory".
  std::vector<std::pair<std::string, std::string>> cgroups;
  std::string task_dir, alloc_dir;
  std::vector<PlanBind> binds;
  std::vector<RunDirectory> run_directories;
  os::Capabilities bounding = 0;
  std::vector<std::string> environment;
};

os::LaunchPlan plan_capsule(const PlanInput& input);

/// Where plan_capsule mounts something, `binds` beside: what the capsule's root must have.
std::vector<MountPoint> own_mount_points();

}  // namespace underway::run
