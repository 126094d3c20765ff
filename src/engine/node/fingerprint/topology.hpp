#pragma once
/// @file
/// The processor cores of the machine and where they lie, as hwloc tells. Nothing of hwloc shows here, and nothing of
/// it is kept: what it found out is copied into these few values and freed before a function returns.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/node/device.hpp"
#include "node/fingerprint/devices.hpp"
#include "node/fingerprint/fingerprint.hpp"

namespace underway::node {

/// "0-3,8" as the kernel and the agent's configuration write sets of cores; sorted, each once.
/// Throws invalid, also for ids above 65535.
std::vector<std::int64_t> parse_cores(std::string_view text);
std::string to_text(const std::vector<std::int64_t>& cores);

struct Processors {
  model::Topology cores;        ///< that this process may run on, by id; each thread of a core is one
  std::int64_t numa_nodes = 1;  ///< of the machine: those without cores, and those that are kept from us, too
};

/// `usual_mhz` is for cores that do not tell their frequency, which is read from sysfs. Throws errno's code when hwloc
/// cannot tell; invalid for a description that it does not understand. Blocks: yes (reads a few files a core).
Processors read_processors(const Machine& machine, std::int64_t usual_mhz);

/// Where the devices on PCI buses lie; those that are as near to several NUMA nodes are left out.
/// Throws as read_processors(). Blocks: yes (reads a few files a device).
PciNumaNodes read_pci_numa_nodes(const Machine& machine);

}  // namespace underway::node
