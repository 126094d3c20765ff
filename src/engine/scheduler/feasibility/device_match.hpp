#pragma once
/// @file
/// Which devices a `device` block means: by name, by constraints over `${device.…}`, and which of them rather.

#include "model/node/node.hpp"

namespace underway::scheduler {

/// Whether the devices have the name and meet every constraint.
bool device_suits(const model::NodeDeviceGroup& devices, const model::RequestedDevice& request);
/// Of suitable devices, whether this one may be given: constraints on `${device.ids}` name single ones.
bool instance_suits(const model::NodeDevice& device, const model::RequestedDevice& request);
/// Sum of the weights of those affinities that hold.
double device_attraction(const model::NodeDeviceGroup& devices, const model::RequestedDevice& request);

}  // namespace underway::scheduler
