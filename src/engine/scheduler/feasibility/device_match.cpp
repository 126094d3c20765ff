#include "scheduler/feasibility/device_match.hpp"

#include "base/text.hpp"
#include "model/node/device_attribute.hpp"
#include "scheduler/feasibility/constraint.hpp"

namespace underway::scheduler {

namespace {

using model::DeviceAttribute;

constexpr std::string_view kIds = "${device.ids}";

DeviceAttribute text(std::string value) {
  DeviceAttribute attribute;
  attribute.text = std::move(value);
  return attribute;
}

std::string ids_of(const model::NodeDeviceGroup& devices) {
  std::string ids;
  for (const auto& instance : devices.instances) ids += (ids.empty() ? "" : ",") + instance.id;
  return ids;
}

/// Nothing for a property that the devices lack.
std::optional<DeviceAttribute> resolve(const std::string& target, const model::NodeDeviceGroup& devices) {
  if (!target.starts_with("${") || !target.ends_with("}")) return model::parse_attribute(target);
  const std::string_view path = std::string_view(target).substr(2, target.size() - 3);
  if (path == "device.model") return text(devices.name);
  if (path == "device.vendor") return text(devices.vendor);
  if (path == "device.type") return text(devices.type);
  if (target == kIds) return text(ids_of(devices));
  constexpr std::string_view kAttribute = "device.attr.";
  if (!path.starts_with(kAttribute)) return std::nullopt;
  const auto it = devices.attributes.find(std::string(path.substr(kAttribute.size())));
  if (it == devices.attributes.end()) return std::nullopt;
  return it->second;
}

std::optional<bool> compared(std::string_view operand, const DeviceAttribute& left, const DeviceAttribute& right) {
  const auto order = model::compare(left, right);
  if (!order) return std::nullopt;
  if (operand == "=" || operand == "==" || operand == "is") return *order == 0;
  if (operand == "!=" || operand == "not") return *order != 0;
  if (operand == "<") return *order < 0;
  if (operand == "<=") return *order <= 0;
  if (operand == ">") return *order > 0;
  if (operand == ">=") return *order >= 0;
  return std::nullopt;
}

bool matches(const std::string& ltarget, const std::string& operand, const std::string& rtarget,
             const model::NodeDeviceGroup& devices) {
  const auto left = resolve(ltarget, devices);
  if (operand == "is_set") return left.has_value();
  if (operand == "is_not_set") return !left.has_value();
  const auto right = resolve(rtarget, devices);
  const bool negative = operand == "!=" || operand == "not";
  if (!left || !right) return negative;
  // Names are text, whatever they look like.
  const auto as_named = left->text && !right->text ? text(model::to_text(*right)) : *right;
  if (const auto answer = compared(operand, *left, as_named)) return *answer;
  static const std::set<std::string_view> kOrdered{"=", "==", "is", "!=", "not", "<", "<=", ">", ">="};
  if (kOrdered.contains(operand)) return negative;
  // Of text: regular expressions, versions, sets.
  static const model::Node kNone;
  model::Constraint words;
  words.ltarget = model::to_text(*left);
  words.operand = operand;
  words.rtarget = model::to_text(*right);
  return holds(words, kNone);
}

}  // namespace

bool device_suits(const model::NodeDeviceGroup& devices, const model::RequestedDevice& request) {
  if (!devices.matches(request.name)) return false;
  return std::all_of(request.constraints.begin(), request.constraints.end(), [&](const model::Constraint& constraint) {
    return matches(constraint.ltarget, constraint.operand, constraint.rtarget, devices);
  });
}

bool instance_suits(const model::NodeDevice& device, const model::RequestedDevice& request) {
  return std::all_of(request.constraints.begin(), request.constraints.end(), [&](const model::Constraint& constraint) {
    if (constraint.ltarget != kIds || !constraint.operand.starts_with("set_contains")) return true;
    const auto ids = split(constraint.rtarget, ',');
    return std::any_of(ids.begin(), ids.end(), [&](const std::string& id) { return trim(id) == device.id; });
  });
}

double device_attraction(const model::NodeDeviceGroup& devices, const model::RequestedDevice& request) {
  double sum = 0;
  for (const auto& affinity : request.affinities)
    if (matches(affinity.ltarget, affinity.operand, affinity.rtarget, devices))
      sum += static_cast<double>(affinity.weight);
  return sum;
}

}  // namespace underway::scheduler
