#include "node/fingerprint/devices.hpp"

#include <glob.h>

#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/text.hpp"
#include "model/node/device_attribute.hpp"
#include "model/service_instance.hpp"
#include "os/file.hpp"

namespace underway::node {

namespace {

bool has_wildcard(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> matches_of(const std::string& pattern) {
  glob_t found{};
  const int failed = ::glob(pattern.c_str(), 0, nullptr, &found);
  std::vector<std::string> paths;
  for (std::size_t i = 0; failed == 0 && i < found.gl_pathc; ++i) paths.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  return paths;
}

std::vector<std::string> files_of(const std::vector<std::string>& patterns) {
  std::vector<std::string> files;
  for (const auto& pattern : patterns)
    for (auto& path : matches_of(pattern)) files.push_back(std::move(path));
  return files;
}

model::NodeDeviceGroup named(const std::string& name) {
  const std::size_t first = name.find('/');
  const std::size_t second = first == std::string::npos ? first : name.find('/', first + 1);
  if (second == std::string::npos || first == 0 || second == first + 1 || second + 1 == name.size())
    throw Error(Code::invalid, fmt::format("device '{}' is no name of a device", name))
        .advise("write it as \"vendor/type/model\"");
  model::NodeDeviceGroup group;
  group.vendor = name.substr(0, first);
  group.type = name.substr(first + 1, second - first - 1);
  group.name = name.substr(second + 1);
  return group;
}

void add_instance(model::NodeDeviceGroup& group, const std::string& path, const std::vector<std::string>& shared) {
  model::NodeDevice& device = group.instances.emplace_back();
  device.id = std::filesystem::path(path).filename().string();
  device.paths = {path};
  device.paths.insert(device.paths.end(), shared.begin(), shared.end());
  if (!os::exists(path)) {
    device.healthy = false;
    device.health_description = fmt::format("'{}' is not there", path);
  }
}

}  // namespace

std::vector<model::NodeDeviceGroup> find_configured(const std::vector<ConfiguredDevice>& devices) {
  std::vector<model::NodeDeviceGroup> groups;
  for (const auto& configured : devices) {
    model::NodeDeviceGroup group = named(configured.name);
    for (const auto& [name, value] : configured.attributes) group.attributes[name] = model::parse_attribute(value);
    const auto shared = files_of(configured.shared);
    std::set<std::string> seen;
    for (const auto& pattern : configured.paths) {
      const auto paths = has_wildcard(pattern) ? matches_of(pattern) : std::vector<std::string>{pattern};
      for (const auto& path : paths)
        if (seen.insert(path).second) add_instance(group, path, shared);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

DeviceUse devices_of(const model::Node& node, const std::vector<model::AllocatedDevice>& given) {
  DeviceUse use;
  std::set<std::string> seen;
  const auto& groups = node.resources.devices;
  for (const auto& device : given) {
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const model::NodeDeviceGroup& candidate) {
      return candidate.vendor == device.vendor && candidate.type == device.type && candidate.name == device.name;
    });
    for (const auto& id : device.ids) {
      const model::NodeDevice* found = nullptr;
      if (group != groups.end())
        for (const auto& instance : group->instances)
          if (instance.id == id) found = &instance;
      if (found == nullptr || !found->healthy)
        throw Error(Code::not_found, fmt::format("device {}/{}/{} '{}' cannot be given to the task", device.vendor,
                                                 device.type, device.name, id))
            .because(found == nullptr ? fmt::format("node '{}' has it no longer", node.name)
                                      : found->health_description);
      for (const auto& path : found->paths)
        if (seen.insert(path).second) use.paths.push_back(path);
    }
  }
  use.environment = device_environment(given);
  return use;
}

model::StringMap device_environment(const std::vector<model::AllocatedDevice>& given) {
  model::StringMap environment;
  const auto add = [&](const std::string& name, const std::string& ids) {
    std::string& value = environment[name];
    value += (value.empty() ? "" : ",") + ids;
  };
  for (const auto& device : given) {
    const std::string ids = join(device.ids, ",");
    if (device.vendor == "nvidia" && device.type == "gpu") {
      add("NVIDIA_VISIBLE_DEVICES", ids);
      add("CUDA_VISIBLE_DEVICES", ids);
    }
    add("UNDERWAY_DEVICE_" + upper(model::variable_name(device.type)), ids);
  }
  return environment;
}

}  // namespace underway::node
