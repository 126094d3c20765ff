#pragma once
/// @file
/// What the first process of a new host does before it becomes `underway-init`: a value, so that it can be read and
/// tested without a kernel. It starts in fresh net, uts, mount, pid and ipc namespaces with the machine's mounts.

#include <sys/types.h>

#include <string>
#include <vector>

#include "os/new_root.hpp"
#include "os/process/launch_plan.hpp"

namespace underway::host {

struct BootBind {
  std::string source;
  std::string target;  ///< in the host, free of symbolic links
  bool directory = true;
  bool read_only = false;
};

struct BootDirectory {
  std::string path;
  uid_t uid = 0;
  gid_t gid = 0;
  mode_t mode = 0755;
};

struct BootInput {
  std::string hostname;
  /// Holds "upper", "work" and "root", on a file system that is not the machine's root.
  std::string directory;
  /// Separate file systems of the machine below its root ("/usr"); "layers/<n>/upper" and "…/work" exist for the n-th.
  std::vector<std::string> layers;
  /// Files to which the process writes "0" to join its cgroup.
  std::vector<std::string> join_cgroup;
  /// A v1 hierarchy's directory of this host, to the name it has in /sys/fs/cgroup.
  std::vector<std::pair<std::string, std::string>> cgroup_v1;
  /// Where v2 is mounted in the host, relative to /sys/fs/cgroup ("", "unified"); absent: nowhere.
  std::optional<std::string> cgroup_v2;
  /// v2 forbids processes in a group that has groups with controllers: pid 1 goes here once the namespace is made.
  std::string cgroup_leaf;
  std::vector<os::DeviceNode> devices;
  /// A directory of the machine that the host must not see.
  std::string hidden;
  std::vector<BootBind> binds;
  std::vector<BootDirectory> directories;
  /// What pid 1 keeps running.
  std::vector<std::string> agent_argv;
  std::vector<std::string> agent_env;
};

os::LaunchPlan plan_boot(const BootInput& input);

}  // namespace underway::host
