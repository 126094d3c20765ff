#include "scheduler/feasibility/volumes.hpp"

#include <algorithm>

#include "model/job/volume_name.hpp"

namespace underway::scheduler {
namespace {

using model::HostVolumeClaim;
using model::VolumeRequest;

/// Before the name, where a device has its vendor, type and model: no device is called so.
constexpr const char* kHeldAlone = "host-volume///";

bool is_single_writer(const VolumeRequest& request) {
  return request.access_mode == model::kSingleWriter && !request.read_only;
}

std::string access_of(const VolumeRequest& request) {
  if (!request.access_mode.empty()) return request.access_mode;
  return request.read_only ? model::kReaderOnly : model::kWriter;
}

/// As it was made to be used.
bool lends(const model::NodeVolume& volume, const VolumeRequest& request, const std::string& ns) {
  if (volume.ns != ns) return false;
  const std::string access = access_of(request);
  const std::string attachment = request.attachment_mode.empty() ? model::kFileSystem : request.attachment_mode;
  return std::any_of(volume.capabilities.begin(), volume.capabilities.end(), [&](const auto& offered) {
    return offered.access_mode == access && offered.attachment_mode == attachment;
  });
}

const HostVolumeClaim* find_claim(const std::vector<HostVolumeClaim>& claims, const std::string& group,
                                  const std::string& volume, std::int64_t index) {
  const auto it = std::find_if(claims.begin(), claims.end(), [&](const HostVolumeClaim& claim) {
    return claim.group == group && claim.volume_name == volume && claim.index == index;
  });
  return it == claims.end() ? nullptr : &*it;
}

}  // namespace

bool has_volume(const model::Node& node, const VolumeRequest& request, std::int64_t index, const std::string& ns) {
  const auto it = node.volumes.find(model::volume_name(request, index));
  if (it == node.volumes.end()) return false;
  const model::NodeVolume& volume = it->second;
  if (access_of(request) == model::kReaderOnly ? !request.read_only : volume.read_only && !request.read_only)
    return false;
  if (volume.id.empty()) return !request.sticky;
  return lends(volume, request, ns);
}

std::vector<std::string> volumes_held_alone(const model::TaskGroup& group) {
  std::vector<std::string> keys;
  for (const auto& [name, request] : group.volumes) {
    if (is_single_writer(request) && !request.per_alloc) keys.push_back(kHeldAlone + request.source);
  }
  return keys;
}

std::vector<std::string> own_volumes_held_alone(const model::TaskGroup& group, std::int64_t index) {
  std::vector<std::string> keys;
  for (const auto& [name, request] : group.volumes) {
    if (is_single_writer(request) && request.per_alloc) keys.push_back(kHeldAlone + model::volume_name(request, index));
  }
  return keys;
}

std::vector<std::string> volumes_held_alone(const model::Allocation& allocation) {
  const auto* group = allocation.job ? allocation.job->find_group(allocation.group) : nullptr;
  if (group == nullptr) return {};
  auto keys = volumes_held_alone(*group);
  for (auto& key : own_volumes_held_alone(*group, std::max<std::int64_t>(0, allocation.index())))
    keys.push_back(std::move(key));
  return keys;
}

bool claims_allow(const std::vector<HostVolumeClaim>& claims, const model::Node& node, const model::TaskGroup& group,
                  const VolumeRequest& request, std::int64_t index) {
  if (!request.sticky) return true;
  const auto it = node.volumes.find(request.source);
  if (it == node.volumes.end()) return false;
  const auto* claim = find_claim(claims, group.name, request.source, index);
  return claim == nullptr || claim->volume_id == it->second.id;
}

std::vector<HostVolumeClaim> bind_volumes(const std::vector<HostVolumeClaim>& claims, const model::Node& node,
                                          const model::TaskGroup& group, const model::Allocation& allocation,
                                          std::int64_t index, IdSource& ids) {
  std::vector<HostVolumeClaim> bound;
  for (const auto& [name, request] : group.volumes) {
    const auto it = node.volumes.find(request.source);
    if (!request.sticky || it == node.volumes.end()) continue;
    const auto* known = find_claim(claims, group.name, request.source, index);
    HostVolumeClaim claim = known == nullptr ? HostVolumeClaim{} : *known;
    if (known == nullptr) claim.id = ids.uuid();
    claim.ns = allocation.ns;
    claim.job_id = allocation.job_id;
    claim.group = group.name;
    claim.alloc_id = allocation.id;
    claim.index = index;
    claim.volume_id = it->second.id;
    claim.volume_name = request.source;
    bound.push_back(std::move(claim));
  }
  return bound;
}

}  // namespace underway::scheduler
