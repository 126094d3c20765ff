#include "model/access/quota.hpp"

#include "model/detail/words.hpp"

#include <set>

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

namespace {

constexpr std::size_t kMostDevices = 256;

bool valid_device(const std::string& name) {
  if (name.empty() || name.front() == '/' || name.back() == '/' || name.find("//") != std::string::npos) return false;
  return std::count(name.begin(), name.end(), '/') <= 2;
}

void check_limit(std::vector<std::string>& out, const QuotaLimit& limit, std::set<std::string>& regions) {
  if (limit.region.empty()) out.emplace_back("a limit names no region");
  if (!regions.insert(limit.region).second)
    out.push_back(fmt::format("region '{}' is limited more than once", limit.region));
  if (limit.region_limit.devices.size() > kMostDevices)
    out.push_back(
        fmt::format("{} devices are limited; at most {} are kept", limit.region_limit.devices.size(), kMostDevices));
  std::set<std::string> devices;
  for (const auto& device : limit.region_limit.devices) {
    if (!valid_device(device.name))
      out.push_back(fmt::format("device '{}' is not a type, vendor/type or vendor/type/model", device.name));
    if (!devices.insert(device.name).second)
      out.push_back(fmt::format("device '{}' is limited more than once", device.name));
  }
}

}  // namespace

const QuotaLimit* Quota::limit_of(std::string_view region) const {
  const auto it =
      std::find_if(limits.begin(), limits.end(), [&](const QuotaLimit& limit) { return limit.region == region; });
  return it == limits.end() ? nullptr : &*it;
}

void canonicalize(Quota& quota) {
  for (auto& limit : quota.limits) {
    std::int64_t& variables = limit.region_limit.storage.variables_mb;
    if (variables == 0) variables = limit.variables_limit;
    limit.variables_limit = 0;
  }
}

std::vector<std::string> problems(const Quota& quota) {
  std::vector<std::string> out;
  detail::check_name("quota", quota.name, out);
  detail::check_description("quota", quota.description, out);
  if (quota.limits.empty()) out.emplace_back("there is no limit in it");
  std::set<std::string> regions;
  for (const auto& limit : quota.limits) check_limit(out, limit, regions);
  return out;
}

const Structure& description(Tag<QuotaDevice>) {
  static const Structure s =
      Builder<QuotaDevice>("quota device", "How many instances of a device may be held.")
          .label<&QuotaDevice::name>("name", "Name", "The type, vendor/type or vendor/type/model.")
          .attribute<&QuotaDevice::count>("count", "Count", "Instances; 0: any number, below 0: none.")
          .done();
  return s;
}

const Structure& description(Tag<QuotaStorage>) {
  static const Structure s =
      Builder<QuotaStorage>("quota storage", "How much may be stored.")
          .attribute<&QuotaStorage::variables_mb>("variables", "VariablesMB", "MiB of variables.")
          .attribute<&QuotaStorage::host_volumes_mb>("host_volumes", "HostVolumesMB", "MiB of dynamic host volumes.")
          .done();
  return s;
}

const Structure& description(Tag<QuotaResources>) {
  static const Structure s =
      Builder<QuotaResources>("quota resources", "In each, 0 bounds nothing, and below 0 nothing may be had.")
          .attribute<&QuotaResources::cpu>("cpu", "CPU", "MHz that tasks ask for.")
          .attribute<&QuotaResources::cores>("cores", "Cores", "Whole cores that tasks ask for.")
          .attribute<&QuotaResources::memory_mb>("memory", "MemoryMB", "MiB that tasks ask for.")
          .attribute<&QuotaResources::memory_max_mb>("memory_max", "MemoryMaxMB",
                                                     "MiB that tasks may have at most: memory_max, or memory.")
          .block<&QuotaResources::devices>("device", "Devices", "How many instances of a device may be held.")
          .block<&QuotaResources::storage>("storage", "Storage", "How much may be stored.")
          .done();
  return s;
}

const Structure& description(Tag<QuotaLimit>) {
  static const Structure s =
      Builder<QuotaLimit>("quota limit", "What holds in a region.")
          .attribute<&QuotaLimit::region>("region", "Region", "Where it holds.")
          .block<&QuotaLimit::region_limit>("region_limit", "RegionLimit", "What may be had there.")
          .attribute<&QuotaLimit::variables_limit>("variables_limit", "VariablesLimit",
                                                   "Old spelling of `storage { variables }`.")
          .wire<&QuotaLimit::hash>("Hash", "Of region and limit, in base64; set by the server.")
          .done();
  return s;
}

const Structure& description(Tag<Quota>) {
  static const Structure s = Builder<Quota>("quota", "How much the namespaces that name it may have together.")
                                 .label<&Quota::name>("name", "Name", "Letters, digits, `-` and `_`.")
                                 .attribute<&Quota::description>("description", "Description", "For people.")
                                 .block<&Quota::limits>("limit", "Limits", "What holds in a region.")
                                 .wire<&Quota::create_index>("CreateIndex", "Revision in which it was made.")
                                 .wire<&Quota::modify_index>("ModifyIndex", "Revision in which it last changed.")
                                 .done();
  return s;
}

const Structure& description(Tag<QuotaUsage>) {
  static const Structure s =
      Builder<QuotaUsage>("quota usage", "What the namespaces of a quota have now.")
          .wire<&QuotaUsage::name>("Name", "Name of the quota.")
          .wire<&QuotaUsage::used>("Used", "What is used of each limit, by the limit's Hash.")
          .wire<&QuotaUsage::create_index>("CreateIndex", "Revision in which the quota was made.")
          .wire<&QuotaUsage::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
