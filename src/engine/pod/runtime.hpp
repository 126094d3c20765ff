#pragma once
/// @file
/// The program that makes a container of a bundle: crun, else runc. It is asked once, to start; everything after that
/// (signals, logs, the end) is between the keeper and the container's first process.

#include <optional>
#include <string>
#include <vector>

#include "os/process/cgroup.hpp"
#include "os/process/launch_plan.hpp"

namespace underway::pod {

struct Runtime {
  std::string name;     ///< "crun" or "runc"
  std::string program;  ///< absolute
  std::string version;  ///< "1.8.1"

  bool is_crun() const { return name == "crun"; }
};

/// `wanted`: a name, an absolute path whose last part tells which it is, or empty: crun, else runc. `why_not` says
/// what is in the way when there is none. Blocks: yes (runs it with --version).
std::optional<Runtime> find_runtime(const std::string& wanted, std::string& why_not);

/// Where one container keeps what; all below its own directory.
struct RunPaths {
  std::string bundle, state, log, pid_file, id;
};
std::vector<std::string> run_command(const Runtime& runtime, const RunPaths& paths);

/// What has to be done first in the mount namespace in which it is started, so that it likes this machine's cgroups.
void prepare_cgroups(os::LaunchPlan& plan, const Runtime& runtime, const os::CgroupSystem& cgroups);

/// The last error in a log that it wrote ("--log-format json"); empty when there is none.
std::string last_error(const std::string& log);

}  // namespace underway::pod
