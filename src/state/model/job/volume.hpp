#pragma once
/// @file
/// `volume` and `volume_mount`: directories of the node that outlive allocations. A group asks for a volume, its tasks
/// mount it.

#include "base/json/describe.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace underway::model {

struct MountOptions {
  std::string fs_type;
  std::vector<std::string> mount_flags;
};

/// What a group asks for: `volume "name" { … }`.
struct VolumeRequest {
  std::string name;
  std::string type = "host";
  std::string source;  ///< name of the node's volume
  bool read_only = false;
  bool sticky = false;     ///< a replacement goes where the same volume is
  bool per_alloc = false;  ///< the source has the allocation's number behind it: "data[3]"
  std::string access_mode;
  std::string attachment_mode;
  std::optional<MountOptions> mount_options;
};

enum class Propagation { isolated, host_to_task, bidirectional };

struct VolumeMount {
  std::string volume;       ///< the group's name for it
  std::string destination;  ///< in the task
  bool read_only = false;
  Propagation propagation_mode = Propagation::isolated;
  std::string selinux_label;
};

/// How a volume may be used. A request fits one of the volume's.
struct HostVolumeCapability {
  std::string attachment_mode;
  std::string access_mode;
};

/// A directory that a node lends to tasks, from its agent's configuration or made by `volume create`.
struct NodeVolume {
  std::string name;
  std::string path;
  bool read_only = false;
  std::string id = {};  ///< of the dynamic host volume behind it; empty: from the configuration
  /// Of a dynamic one, who may mount it and how; one from the configuration is lent to all, and says neither.
  std::string ns = {};
  std::vector<HostVolumeCapability> capabilities = {};
};

const describe::Enumeration& description(describe::Tag<Propagation>);
const describe::Structure& description(describe::Tag<MountOptions>);
const describe::Structure& description(describe::Tag<VolumeRequest>);
const describe::Structure& description(describe::Tag<VolumeMount>);
const describe::Structure& description(describe::Tag<HostVolumeCapability>);
const describe::Structure& description(describe::Tag<NodeVolume>);

}  // namespace underway::model
