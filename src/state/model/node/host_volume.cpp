#include "model/node/host_volume.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

namespace {

constexpr std::size_t kLongestName = 128;
constexpr std::array<std::string_view, 4> kAccessModes = {kReaderOnly, kWriter, kSingleWriter, kMultiWriter};
constexpr std::array<std::string_view, 2> kAttachmentModes = {kFileSystem, "block-device"};

template <class List>
bool is_one_of(const List& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

/// It becomes part of a path for plugins that want it so.
bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '[' || c == ']';
         });
}

void check_capabilities(const HostVolume& volume, std::vector<std::string>& out) {
  if (volume.capabilities.empty()) out.emplace_back("must include at least one capability block: how it may be used");
  for (const auto& capability : volume.capabilities) {
    if (!is_one_of(kAccessModes, capability.access_mode))
      out.push_back(
          fmt::format("access_mode '{}' is none of {}", capability.access_mode, fmt::join(kAccessModes, ", ")));
    if (!is_one_of(kAttachmentModes, capability.attachment_mode))
      out.push_back(fmt::format("attachment_mode '{}' is none of {}", capability.attachment_mode,
                                fmt::join(kAttachmentModes, ", ")));
    if (capability.attachment_mode == "block-device")
      out.emplace_back("attachment_mode 'block-device' is not supported: tasks mount directories");
  }
}

}  // namespace

std::vector<std::string> problems(const HostVolume& volume, bool registering) {
  std::vector<std::string> out;
  if (!is_name(volume.name))
    out.push_back(fmt::format("name '{}' is not of 1 to {} letters, digits, '-', '_', '.' and brackets",
                              volume.name.substr(0, kLongestName), kLongestName));
  check_capabilities(volume, out);
  if (volume.capacity_min < 0 || volume.capacity_max < 0 || volume.capacity < 0)
    out.emplace_back("a capacity is below zero");
  if (volume.capacity_max > 0 && volume.capacity_min > volume.capacity_max)
    out.push_back(
        fmt::format("capacity_min ({}) is larger than capacity_max ({})", volume.capacity_min, volume.capacity_max));
  if (registering) {
    if (volume.node_id.empty()) out.emplace_back("node_id is missing: a volume is registered where it is");
    if (!volume.host_path.starts_with('/'))
      out.push_back(fmt::format("host_path '{}' is no absolute path", volume.host_path));
  } else if (volume.plugin_id.empty() || volume.plugin_id.find('/') != std::string::npos ||
             volume.plugin_id.starts_with('.')) {
    out.push_back(fmt::format("plugin_id '{}' is no name of a plugin, such as '{}'", volume.plugin_id, kMkdirPlugin));
  }
  return out;
}

NodeVolume as_node_volume(const HostVolume& volume) {
  return {volume.name, volume.host_path, false, volume.id, volume.ns, volume.capabilities};
}

const Enumeration& description(Tag<HostVolumeState>) {
  static const Enumeration e = describe::enumeration<HostVolumeState>("host volume state");
  return e;
}

const Structure& description(Tag<HostVolume>) {
  static const Structure s =
      Builder<HostVolume>("volume", "A directory that a node makes, or has, and lends to tasks.")
          .attribute<&HostVolume::ns>("namespace", "Namespace", "Whose jobs may mount it.")
          .attribute<&HostVolume::id>("id", "ID", "Of a volume that is changed.")
          .attribute<&HostVolume::name>("name", "Name", "The `source` of requests; one of a name on a node.")
          .required()
          .attribute<&HostVolume::plugin_id>("plugin_id", "PluginID",
                                             "What makes it: `mkdir`, or a plugin of the node.")
          .attribute<&HostVolume::node_pool>("node_pool", "NodePool", "Where it is made.")
          .attribute<&HostVolume::node_id>("node_id", "NodeID", "The node; empty: one is chosen.")
          .block<&HostVolume::constraints>("constraint", "Constraints", "On the node that is chosen.")
          .attribute<&HostVolume::capacity_min>("capacity_min", "RequestedCapacityMinBytes", "Such as \"10GiB\".")
          .attribute<&HostVolume::capacity_max>("capacity_max", "RequestedCapacityMaxBytes", "Such as \"20GiB\".")
          .attribute<&HostVolume::capacity>("capacity", "CapacityBytes", "Of one that is registered.")
          .block<&HostVolume::capabilities>("capability", "RequestedCapabilities", "How it may be used.")
          .block_or_attribute<&HostVolume::parameters>("parameters", "Parameters", "The plugin's.")
          .attribute<&HostVolume::host_path>("host_path", "HostPath", "Where it is, of one that is registered.")
          .wire<&HostVolume::state>(
              "State", "`pending` until the node has it, `ready`, or `unavailable`: the node does not lend it.")
          .wire<&HostVolume::deleting>("Deleting", "Whether the node is told to delete it, and has not done it yet.")
          .wire<&HostVolume::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&HostVolume::create_time>("CreateTime", "Unix time in nanoseconds at which it was made.")
          .wire<&HostVolume::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .wire<&HostVolume::modify_time>("ModifyTime", "Unix time in nanoseconds at which it last changed.")
          .done();
  return s;
}

const Structure& description(Tag<HostVolumeClaim>) {
  static const Structure s =
      Builder<HostVolumeClaim>("volume claim", "The volume that an allocation is bound to.")
          .wire<&HostVolumeClaim::id>("ID", "UUID.")
          .wire<&HostVolumeClaim::ns>("Namespace", "Namespace of the job.")
          .wire<&HostVolumeClaim::job_id>("JobID", "ID of the job.")
          .wire<&HostVolumeClaim::group>("TaskGroupName", "The job's group.")
          .wire<&HostVolumeClaim::alloc_id>("AllocID", "ID of the allocation that had it last.")
          .wire<&HostVolumeClaim::index>("AllocIndex", "The number in that allocation's name, from 0.")
          .wire<&HostVolumeClaim::volume_id>("VolumeID",
                                             "ID of the volume: the next allocation of that number goes where it is.")
          .wire<&HostVolumeClaim::volume_name>("VolumeName", "The `source` of the request.")
          .wire<&HostVolumeClaim::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&HostVolumeClaim::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
