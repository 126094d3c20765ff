#pragma once
/// @file
/// Devices that the node has for tasks: GPUs as NVIDIA's library tells of them, and whatever else the agent's
/// configuration names by /dev files. What a task was given is looked up here again, for its files and its environment.

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/allocation.hpp"
#include "model/node/node.hpp"

namespace underway::node {

/// `device "vendor/type/model"` of the agent's configuration.
struct ConfiguredDevice {
  std::string name;
  std::vector<std::string> paths;   ///< with * and ?; each file is an instance, by its name
  std::vector<std::string> shared;  ///< files that every holder of one gets as well
  model::StringMap attributes;      ///< "memory" = "40 GiB"
};

/// What the machine has of them now, in the order of the configuration. A path without wildcards that is not there is
/// an instance that is not healthy. Throws invalid for a name that is not of three parts. Blocks: yes.
std::vector<model::NodeDeviceGroup> find_configured(const std::vector<ConfiguredDevice>& devices);

/// NUMA nodes by PCI bus id, as "0000:5e:00.0".
using PciNumaNodes = std::map<std::string, std::int64_t>;

/// NVIDIA's management library, loaded when it is there: nothing of this program is linked to it. Thread: one at a
/// time. Source: NVML API Reference (its functions and structures are stable by version suffix).
class Nvidia {
 public:
  /// Null where the library is missing or finds no driver. `locate` is asked, once and only where there is one, at
  /// which NUMA nodes the devices of the PCI buses lie (read_pci_numa_nodes()). /proc and /dev are below `root`.
  static std::unique_ptr<Nvidia> load(const std::string& library, const std::function<PciNumaNodes()>& locate,
                                      const std::string& root = "");
  virtual ~Nvidia() = default;
  /// GPUs by model; those divided by MIG as their parts. Blocks: yes (may wake a GPU).
  virtual std::vector<model::NodeDeviceGroup> find() = 0;
};

/// What comes with devices that a task holds.
struct DeviceUse {
  std::vector<std::string> paths;  ///< /dev files that it may open
  model::StringMap environment;
};
/// Throws not_found for a device that the node no longer has.
DeviceUse devices_of(const model::Node& node, const std::vector<model::AllocatedDevice>& given);
/// NVIDIA_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES for GPUs, UNDERWAY_DEVICE_<TYPE> for all: ids, with commas.
model::StringMap device_environment(const std::vector<model::AllocatedDevice>& given);

}  // namespace underway::node
