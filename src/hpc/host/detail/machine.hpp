#pragma once
/// @file
/// From a host's specification and what this machine has to the input of its boot plan. Writes the files of its /etc.

#include "host/boot_plan.hpp"
#include "host/detail/groups.hpp"
#include "host/detail/layout.hpp"
#include "host/provider.hpp"

namespace underway::host {

/// Makes the host's directories in the cluster's tmpfs. Errors: not_found (no such owner, group, bind source).
BootInput describe_boot(const Layout& layout, const ClusterSpec& cluster, const HostSpec& host,
                        const HostGroups& groups, const std::vector<std::string>& visible);

/// Device nodes a host gets: those of a fixed list that this machine has.
std::vector<os::DeviceNode> find_devices();

}  // namespace underway::host
