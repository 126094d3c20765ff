#pragma once
/// @file
/// The dynamic host volumes of this node: what it was told to have is on disk, in <data_dir>/node/volumes/<id>.json,
/// before a plugin is asked, and so is every step after it. An agent that was killed in between finds out what was
/// begun, and does it again: plugins are made for that. Thread: any, one call of a volume at a time. Blocks: yes.

#include <set>

#include "model/job/volume.hpp"
#include "protocol/volume_messages.hpp"

namespace underway::node {

/// What is on disk of one.
struct VolumeRecord {
  enum class Stage { making, made, deleting };
  protocol::VolumeOrder order;
  protocol::VolumeMade made;
  Stage stage = Stage::making;
  std::string boot;  ///< in which it was made, or brought back
};

struct HostVolumeOptions {
  std::string data_dir;
  std::string plugin_directory;  ///< empty: <data_dir>/host_volume_plugins
  std::string directory;         ///< where plugins put volumes; empty: <data_dir>/host_volumes
  std::string node_id;
  std::set<std::string> taken;  ///< names of volumes of the configuration
  std::string boot;             ///< boot_mark()
};

class HostVolumes {
 public:
  explicit HostVolumes(HostVolumeOptions options);

  /// What can be lent again after a start. What a plugin made before the machine was started is asked for again; what
  /// was being made or deleted is finished.
  std::vector<model::NodeVolume> restore();
  /// Name to version; `mkdir` is always there.
  std::map<std::string, std::string> plugins() const;

  /// volume.create and volume.register. Throws what the plugin says: then a volume that was not there before is not
  /// there, and one that was is as it was.
  protocol::VolumeMade make(const protocol::VolumeOrder& order);
  /// volume.delete. Nothing happens when it is not there.
  void remove(const std::string& id);

 private:
  std::string file_of(const std::string& id) const;
  void write(const VolumeRecord& record) const;
  std::optional<VolumeRecord> find(const std::string& id) const;
  std::vector<VolumeRecord> all() const;
  protocol::VolumeMade carry_out(const protocol::VolumeOrder& order) const;
  void undo(const protocol::VolumeOrder& order, const std::string& path) const;
  std::map<std::string, std::string> variables(const protocol::VolumeOrder& order) const;
  bool bring_back(VolumeRecord& record) const;

  HostVolumeOptions options_;
};

const describe::Enumeration& description(describe::Tag<VolumeRecord::Stage>);
const describe::Structure& description(describe::Tag<VolumeRecord>);

}  // namespace underway::node
