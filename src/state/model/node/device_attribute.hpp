#pragma once
/// @file
/// Values of devices with their units: "11441 MiB" is more than "11 GB". Source of the units: Nomad's
/// plugins/shared/structs/units.go (documentation "device Block", "Attributes and units").

#include "model/node/device.hpp"

namespace underway::model {

/// "11441 MiB", "1.5 GHz", "true", "volta": a number only when nothing but a known unit follows it.
DeviceAttribute parse_attribute(std::string_view text);
/// As it is written in a constraint.
std::string to_text(const DeviceAttribute& attribute);
bool is_unit(std::string_view name);

/// -1, 0, 1; nothing when they cannot be compared: of different kinds, or units of different things. Of two truth
/// values only equality has a meaning.
std::optional<int> compare(const DeviceAttribute& a, const DeviceAttribute& b);

}  // namespace underway::model
