#include "model/node/device.hpp"

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
  static const Structure s =
      Builder<DeviceAttribute>("device attribute",
                               "A value with a unit; one of FloatVal, IntVal, StringVal and BoolVal is set.")
          .wire<&DeviceAttribute::number>("FloatVal", "A number that is not whole; absent: another one is set.")
          .wire<&DeviceAttribute::integer>("IntVal", "A whole number; absent: another one is set.")
          .wire<&DeviceAttribute::text>("StringVal", "A text; absent: another one is set.")
          .wire<&DeviceAttribute::flag>("BoolVal", "Yes or no; absent: another one is set.")
          .wire<&DeviceAttribute::unit>("Unit", "Of the number: `MiB`, `MHz`, `W`, `GB/s`; empty: none.")
          .done();
  return s;
}

const Structure& description(Tag<NodeDevice>) {
  static const Structure s =
      Builder<NodeDevice>("device instance", "One device of a node.")
          .wire<&NodeDevice::id>("ID", "Names it among those of its group.")
          .wire<&NodeDevice::healthy>("Healthy", "Whether it works; else it is given to nobody.")
          .wire<&NodeDevice::health_description>("HealthDescription", "Why not, for people; empty: it works.")
          .wire<&NodeDevice::pci_bus_id>("Locality.PciBusID", "Its address on the PCI bus; empty: it has none.")
          .wire<&NodeDevice::numa_node>("Locality.NumaNode", "The NUMA node that it is near to; -1: not known.")
          .wire<&NodeDevice::paths>("Paths", "Files in /dev that a task which holds it may open.")
          .done();
  return s;
}

const Structure& description(Tag<NodeDeviceGroup>) {
  static const Structure s = Builder<NodeDeviceGroup>("device group", "Devices of a node that are alike.")
                                 .wire<&NodeDeviceGroup::vendor>("Vendor", "Who made them: `nvidia`.")
                                 .wire<&NodeDeviceGroup::type>("Type", "What they are: `gpu`.")
                                 .wire<&NodeDeviceGroup::name>("Name", "Their model.")
                                 .wire<&NodeDeviceGroup::instances>("Instances", "The devices, one by one.")
                                 .wire<&NodeDeviceGroup::attributes>("Attributes", "What all of them have, by name.")
                                 .done();
  return s;
}

const Structure& description(Tag<AllocatedDevice>) {
  static const Structure s = Builder<AllocatedDevice>("allocated device", "Devices that a task was given.")
                                 .wire<&AllocatedDevice::vendor>("Vendor", "Who made them: `nvidia`.")
                                 .wire<&AllocatedDevice::type>("Type", "What they are: `gpu`.")
                                 .wire<&AllocatedDevice::name>("Name", "Their model.")
                                 .wire<&AllocatedDevice::ids>("DeviceIDs", "IDs of the devices.")
                                 .done();
  return s;
}

const Structure& description(Tag<Core>) {
  static const Structure s = Builder<Core>("core", "A core that can be given to a task alone.")
                                 .wire<&Core::socket>("SocketID", "The processor that it is part of.")
                                 .wire<&Core::numa_node>("NodeID", "The NUMA node that it belongs to.")
                                 .wire<&Core::id>("ID", "Its number in the kernel.")
                                 .wire<&Core::efficiency>("Efficiency", "Whether it is of the slower of two kinds.")
                                 .wire<&Core::base_mhz>("BaseSpeed", "Its base frequency in MHz.")
                                 .done();
  return s;
}

const Structure& description(Tag<Topology>) {
  static const Structure s = Builder<Topology>("topology", "The processor cores of a node that can be reserved.")
                                 .wire<&Topology::cores>("Cores", "The cores, by ID.")
                                 .done();
  return s;
}

}  // namespace underway::model
