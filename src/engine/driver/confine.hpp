#pragma once
/// @file
/// What holds a task of `exec` tighter than its namespaces do: limits of setrlimit(2), devices, paths, system calls.
/// All of it is read from the task's config.

#include <boost/json/value.hpp>
#include <string>
#include <vector>

#include "os/process/cgroup.hpp"
#include "os/process/launch_plan.hpp"
#include "os/process/process.hpp"

namespace underway::driver {

/// What is wrong with `ulimits`, `devices`, `read_only_paths`, `masked_paths` and `seccomp`. Pure.
std::vector<std::string> confinement_problems(const boost::json::value& config);

/// Of a config without problems. Values that hold variables are none. What this process may not raise so far is as high
/// as it may: a hard limit above its own needs CAP_SYS_RESOURCE, `nofile` has the kernel's fs.nr_open as its ceiling
/// (getrlimit(2)). systemd does the same with LimitNOFILE= and its like (systemd.exec(5)). Blocks: yes (reads proc).
std::vector<os::SpawnSpec::Limit> limits_of(const boost::json::value& config);
/// Those of limits_of that are lower than the config says, for people: "memlock is 8388608 in place of unlimited".
std::vector<std::string> lowered_limits(const boost::json::value& config);

/// Before the task joins its group: what its devices cgroup lets it open. Only on cgroup v1, and only when the config
/// names devices.
void confine_devices(os::LaunchPlan& plan, const boost::json::value& config, const os::Cgroup& group);
/// In the task's mounts, while they lie below `root`: its devices, what it sees read-only, and what it does not see.
void confine_paths(os::LaunchPlan& plan, const boost::json::value& config, const std::string& root);
/// The compiled filters, podman's default unless the config names another; "unconfined": none. Throws not_found or
/// invalid for a profile of the site. Blocks: yes (disk).
std::vector<std::string> filters_of(const boost::json::value& config, os::Capabilities held);

}  // namespace underway::driver
