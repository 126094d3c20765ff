#pragma once
/// @file
/// Dynamic host volumes: directories that a node makes, or has, and lends to tasks; asked for while it runs, instead of
/// written into its configuration. And claims: which volume an allocation of a group is bound to (`sticky`).
/// Source of the shapes: Nomad's documentation, "Dynamic Host Volume Specification" and "Volumes HTTP API".

#include "model/job/job.hpp"
#include "model/job/volume.hpp"

namespace underway::model {

enum class HostVolumeState {
  pending,      ///< the node has not said yet that it has it
  ready,        ///< lent to tasks
  unavailable,  ///< the node does not lend it: it is being deleted, or its plugin could not bring it back
};

struct HostVolume {
  std::string ns = "default";  ///< of the jobs that may mount it
  std::string id;              ///< a UUID
  std::string name;            ///< the `source` of requests; one of a name on a node
  std::string plugin_id;       ///< empty: registered, nobody made it
  std::string node_pool;
  std::string node_id;
  std::vector<Constraint> constraints;  ///< on where it is made
  std::int64_t capacity_min = 0;        ///< bytes; 0: the plugin's choice
  std::int64_t capacity_max = 0;
  std::int64_t capacity = 0;  ///< bytes, as the plugin says; 0: it does not limit it
  std::vector<HostVolumeCapability> capabilities;
  StringMap parameters;  ///< the plugin's
  std::string host_path;
  HostVolumeState state = HostVolumeState::pending;
  bool deleting = false;  ///< the node is told to, until it has done it
  Revision create_index = 0;
  std::int64_t create_time = 0;  ///< ns since the epoch
  Revision modify_index = 0;
  std::int64_t modify_time = 0;
};

/// The allocation of a number in a group goes where this volume is.
struct HostVolumeClaim {
  std::string id;
  std::string ns = "default";
  std::string job_id;
  std::string group;
  std::string alloc_id;    ///< that had it last
  std::int64_t index = 0;  ///< the number in its name
  std::string volume_id;
  std::string volume_name;  ///< the `source` of the request
  Revision create_index = 0;
  Revision modify_index = 0;
};

inline constexpr const char* kMkdirPlugin = "mkdir";
inline constexpr const char* kFileSystem = "file-system";
inline constexpr const char* kReaderOnly = "single-node-reader-only";
inline constexpr const char* kWriter = "single-node-writer";
inline constexpr const char* kSingleWriter = "single-node-single-writer";
inline constexpr const char* kMultiWriter = "single-node-multi-writer";

/// All problems of what somebody asks for, in words. `registering`: it is there, instead of to be made.
std::vector<std::string> problems(const HostVolume& volume, bool registering);

/// A volume of this one's node, as its row has it.
NodeVolume as_node_volume(const HostVolume& volume);

const describe::Enumeration& description(describe::Tag<HostVolumeState>);
const describe::Structure& description(describe::Tag<HostVolume>);
const describe::Structure& description(describe::Tag<HostVolumeClaim>);

}  // namespace underway::model
