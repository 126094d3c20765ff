#pragma once
/// @file
/// The processor cores of the machine and where they lie, read from sysfs: it holds all that is needed here, and is
/// read in a millisecond without a library. Source: the kernel's Documentation/ABI (sysfs-devices-system-cpu,
/// sysfs-devices-node).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/device.hpp"
#include "node/fingerprint.hpp"

namespace underway::node {

/// "0-3,8" as the kernel and the agent's configuration write sets of cores; sorted, each once.
/// Throws invalid, also for ids above 65535.
std::vector<std::int64_t> parse_cores(std::string_view text);
std::string to_text(const std::vector<std::int64_t>& cores);

/// Cores that are online, by id. `usual_mhz` is for those that do not tell their frequency.
model::Topology read_topology(const Machine& machine, std::int64_t usual_mhz);
/// NUMA nodes that sysfs tells of; 1 at least.
std::int64_t count_numa_nodes(const Machine& machine);

}  // namespace underway::node
