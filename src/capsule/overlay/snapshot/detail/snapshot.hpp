#pragma once
/// @file
/// Where the parts of a snapshot lie, and the calls of btrfs.

#include "overlay/snapshot/snapshot.hpp"

namespace underway::overlay {

std::string snapshot_dir(const std::string& snapshots, const std::string& id);
/// In the overlay's file system (SnapshotMethod::subvolume).
std::string subvolume_of(const Mounted& overlay, const std::string& id);
void write_snapshot(const std::string& snapshots, const Snapshot& snapshot);

/// BTRFS_IOC_SNAP_CREATE_V2: `name` in `into` becomes what the subvolume at `from` is.
void clone_subvolume(const std::string& from, const std::string& into, const std::string& name, bool read_only);
/// BTRFS_IOC_SNAP_DESTROY; nothing happens when there is none.
void remove_subvolume(const std::string& directory, const std::string& name);

/// Whether the file system that holds `file` can clone (FICLONE) files of it.
bool can_clone(const std::string& file);
/// Makes `to` a clone of `from`, replacing what is there.
void clone_file(const std::string& from, const std::string& to);

}  // namespace underway::overlay
