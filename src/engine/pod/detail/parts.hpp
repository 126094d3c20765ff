#pragma once
/// @file
/// Parts of a container's start that need the machine: its directory, layers, devices, limits, and who runs beside it.

#include <string>
#include <vector>

#include "driver/local_task.hpp"
#include "oci/user.hpp"
#include "pod/bundle.hpp"
#include "pod/runtime.hpp"

namespace underway::pod::detail {

using driver::TaskSpec;

/// What one run of a container has on disk: beside the keeper's directory, which the keeper's end takes away.
struct Place {
  explicit Place(const TaskSpec& spec) : directory(spec.keeper_dir + ".pod"), keeper(spec.keeper_dir) {}
  std::string directory, keeper;
  std::string path(const char* name) const { return fmt::format("{}/{}", directory, name); }
  RunPaths run_paths(const TaskSpec& spec) const {
    return {directory, path("state"), path("runtime.log"), keeper + "/pid",
            fmt::format("{}-{}", spec.task, spec.alloc_id)};
  }
};

/// Where a run finds what it is given: in memory, in the run's own mount namespace. Below the agent's directory the
/// task's user could not search.
inline constexpr std::string_view kStage = "/run/underway-task";

/// Layers by names of one or two characters: the options of one mount are at most a page (mount(2)).
void link_layers(const Place& place, const std::vector<std::string>& layers);
/// For a process whose directory is "l". `own`: the directory with `upper` and `work`; empty: read-only.
std::string overlay_options(std::size_t layers, std::string_view own = {});
/// Who it runs as, by the image's own files: looked at through a mount that nobody else sees.
oci::ImageUser find_user(const std::vector<std::string>& layers, const std::string& scratch, const std::string& user,
                         const std::vector<std::string>& groups);
/// The device, or all devices below the directory. Throws not_found; invalid for what is no device.
void add_node(std::vector<DeviceNode>& out, const Device& device);
os::CgroupLimits limits_of(const driver::Options& options, const TaskSpec& spec, const Config& config);
/// Settings of the group beyond os::CgroupLimits; what the kernel refuses fails the start, with its file named.
void tune(os::LaunchPlan& plan, const os::Cgroup& group, const TaskSpec& spec, const Config& config,
          const std::vector<DeviceRule>& rules);
/// As the container's first process runs, read back from its bundle: also after a restart of the agent.
driver::local::CommandTemplate command_of(const std::string& bundle);

}  // namespace underway::pod::detail
