#pragma once
/// @file
/// What a node has that tasks hold alone: devices, by vendor, type and model, and processor cores with where they lie.

#include "base/json/describe.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

/// A value with a unit that may be compared across units ("11441 MiB"); one of the four is set.
struct DeviceAttribute {
  std::optional<std::int64_t> integer;
  std::optional<double> number;
  std::optional<std::string> text;
  std::optional<bool> flag;
  std::string unit;  ///< "MiB", "MHz", "W", "GB/s"; empty: none
};

struct NodeDevice {
  std::string id;
  bool healthy = true;
  std::string health_description;
  std::string pci_bus_id;
  std::int64_t numa_node = -1;     ///< -1: not known
  std::vector<std::string> paths;  ///< /dev files that a task which holds it may open
};

/// Devices that are alike.
struct NodeDeviceGroup {
  std::string vendor;
  std::string type;
  std::string name;  ///< the model
  std::vector<NodeDevice> instances;
  std::map<std::string, DeviceAttribute> attributes;

  /// "vendor/type/model"
  std::string id() const { return vendor + "/" + type + "/" + name; }
  /// Whether a request for "type", "vendor/type" or "vendor/type/model" means these.
  bool matches(const std::string& request) const;
};

/// Devices that a task was given.
struct AllocatedDevice {
  std::string vendor;
  std::string type;
  std::string name;
  std::vector<std::string> ids;
};

/// A processor core that can be given to a task alone.
struct Core {
  std::int64_t id = 0;
  std::int64_t socket = 0;
  std::int64_t numa_node = 0;
  std::int64_t base_mhz = 0;
  bool efficiency = false;  ///< of two kinds the slower
};

struct Topology {
  std::vector<Core> cores;  ///< that may be reserved, by id

  bool empty() const { return cores.empty(); }
};

const describe::Structure& description(describe::Tag<DeviceAttribute>);
const describe::Structure& description(describe::Tag<NodeDevice>);
const describe::Structure& description(describe::Tag<NodeDeviceGroup>);
const describe::Structure& description(describe::Tag<AllocatedDevice>);
const describe::Structure& description(describe::Tag<Core>);
const describe::Structure& description(describe::Tag<Topology>);

}  // namespace underway::model
