#pragma once
/// @file
/// `machines` of a cluster: which virtual machines a Slurm job gets that asks for them by name, for as long as it has
/// its nodes.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::model {

struct MachineSet {
  std::string name;
  std::string image;  ///< their first disk; empty: none. These three are files of the job's nodes
  std::string kernel;
  std::string initrd;
  std::string append;  ///< the kernel's command line
  std::string disk;    ///< an empty disk of its own; empty: none
  std::int64_t cpus = 1;
  std::int64_t memory_mb = 0;             ///< MiB
  std::int64_t per_node = 1;              ///< when the job does not say
  std::string network = "10.200.0.0/16";  ///< of which each job has a part of its own
  std::int64_t shared_memory_mb = 0;      ///< MiB that those of one job on one node share; 0: none
  std::vector<std::string> host_devices;  ///< PCI addresses: of the first machine on each node
};

/// Most machines of one job on one node.
inline constexpr std::int64_t kMostMachinesPerNode = 64;

/// Of two networks of IPv4, whether an address is in both.
bool overlap(const std::string& network, const std::string& other);

/// All that is wrong, in words.
std::vector<std::string> problems(const MachineSet& set);

const describe::Structure& description(describe::Tag<MachineSet>);

}  // namespace underway::model
