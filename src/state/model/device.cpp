#include "model/device.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

bool NodeDeviceGroup::matches(const std::string& request) const {
  // A model may hold slashes itself, so only the first two divide.
  const std::size_t first = request.find('/');
  if (first == std::string::npos) return request == type;
  const std::size_t second = request.find('/', first + 1);
  if (request.substr(0, first) != vendor) return false;
  if (second == std::string::npos) return request.substr(first + 1) == type;
  return request.substr(first + 1, second - first - 1) == type && request.substr(second + 1) == name;
}

const Structure& description(Tag<DeviceAttribute>) {
  static const Structure s = Builder<DeviceAttribute>("device attribute", "")
                                 .wire<&DeviceAttribute::number>("FloatVal", "")
                                 .wire<&DeviceAttribute::integer>("IntVal", "")
                                 .wire<&DeviceAttribute::text>("StringVal", "")
                                 .wire<&DeviceAttribute::flag>("BoolVal", "")
                                 .wire<&DeviceAttribute::unit>("Unit", "")
                                 .done();
  return s;
}

const Structure& description(Tag<NodeDevice>) {
  static const Structure s = Builder<NodeDevice>("device instance", "")
                                 .wire<&NodeDevice::id>("ID", "")
                                 .wire<&NodeDevice::healthy>("Healthy", "")
                                 .wire<&NodeDevice::health_description>("HealthDescription", "")
                                 .wire<&NodeDevice::pci_bus_id>("Locality.PciBusID", "")
                                 .wire<&NodeDevice::numa_node>("Locality.NumaNode", "")
                                 .wire<&NodeDevice::paths>("Paths", "")
                                 .done();
  return s;
}

const Structure& description(Tag<NodeDeviceGroup>) {
  static const Structure s = Builder<NodeDeviceGroup>("device group", "Devices of a node that are alike.")
                                 .wire<&NodeDeviceGroup::vendor>("Vendor", "")
                                 .wire<&NodeDeviceGroup::type>("Type", "")
                                 .wire<&NodeDeviceGroup::name>("Name", "")
                                 .wire<&NodeDeviceGroup::instances>("Instances", "")
                                 .wire<&NodeDeviceGroup::attributes>("Attributes", "")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocatedDevice>) {
  static const Structure s = Builder<AllocatedDevice>("allocated device", "Devices that a task was given.")
                                 .wire<&AllocatedDevice::vendor>("Vendor", "")
                                 .wire<&AllocatedDevice::type>("Type", "")
                                 .wire<&AllocatedDevice::name>("Name", "")
                                 .wire<&AllocatedDevice::ids>("DeviceIDs", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Core>) {
  static const Structure s = Builder<Core>("core", "A core that can be given to a task alone.")
                                 .wire<&Core::socket>("SocketID", "")
                                 .wire<&Core::numa_node>("NodeID", "")
                                 .wire<&Core::id>("ID", "")
                                 .wire<&Core::efficiency>("Efficiency", "")
                                 .wire<&Core::base_mhz>("BaseSpeed", "")
                                 .done();
  return s;
}

const Structure& description(Tag<Topology>) {
  static const Structure s = Builder<Topology>("topology", "").wire<&Topology::cores>("Cores", "").done();
  return s;
}

}  // namespace underway::model
