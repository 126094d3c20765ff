#pragma once
/// @file
/// What is saved of a capsule: snapshots beside its overlay, backups elsewhere, and whether they are worth something.

#include <optional>
#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "model/capsule/rehearsal.hpp"

namespace underway::model {

/// How a snapshot is kept.
enum class SnapshotMethod {
  subvolume,  ///< of btrfs: costs what changes later
  clone,      ///< of the overlay's file (FICLONE), where the file system that holds it can
  copy,       ///< of the tree: in rounds while writers run, and the rest while they wait
};

struct Snapshot {
  std::int64_t version = 1;
  std::string id;       ///< "20261121-234103"; later ones sort behind
  std::int64_t at = 0;  ///< ns since the epoch: what was written until then is in it
  SnapshotMethod method = SnapshotMethod::copy;
  std::string reason;           ///< "by hand", "schedule", "before move", …
  std::string image;            ///< that the capsule ran: rolling back takes both
  Duration frozen{};            ///< for how long writers waited
  std::int64_t size_bytes = 0;  ///< of the file system; 0: it lies in a directory
  std::string file;             ///< SnapshotMethod::clone
  bool complete = false;
};

/// How many to keep: the newest, and of each of the last hours, days and weeks that have one the newest. All 0: all.
/// Beside these the last two from before an upgrade stay.
struct Retention {
  std::int64_t last = 0, hourly = 0, daily = 0, weekly = 0;
};

struct Backup {
  std::string id;
  std::int64_t at = 0;   ///< ns since the epoch; whole seconds: what was written until then is in it
  std::string capsule;   ///< "default/slurm-services"
  std::string image;     ///< that it ran
  std::string snapshot;  ///< that it was made of
  std::string digest;    ///< of the tree: names, attributes and content
};

/// A drill: whether what was saved is worth something.
struct Drill {
  Duration restored{};                ///< what restoring took
  Duration checked{};                 ///< what starting and checking took
  std::vector<std::string> problems;  ///< empty: it would have done
};

/// Of backups. Without a repository: that of the capsule's `backup` block. All are paths and places on the node; what
/// is secret stays in the files.
struct BackupPlace {
  std::string repository;
  std::string password_file, environment_file, sftp_command;
};

struct Snapshots {
  std::vector<Snapshot> snapshots;
};
struct Backups {
  std::vector<Backup> backups;
};
struct Backed {
  Backup backup;
  std::int64_t read_bytes = 0, added_bytes = 0;
  Duration took{0};
};
struct Drilled {
  Drill drill;
  std::string of;       ///< the snapshot or backup
  std::int64_t at = 0;  ///< its moment, ns since the epoch
  std::optional<Rehearsal> rehearsal;

  bool passed() const { return drill.problems.empty(); }
};

const describe::Enumeration& description(describe::Tag<SnapshotMethod>);
const describe::Structure& description(describe::Tag<Snapshot>);
const describe::Structure& description(describe::Tag<Retention>);
const describe::Structure& description(describe::Tag<Backup>);
const describe::Structure& description(describe::Tag<Drill>);
const describe::Structure& description(describe::Tag<BackupPlace>);
const describe::Structure& description(describe::Tag<Snapshots>);
const describe::Structure& description(describe::Tag<Backups>);
const describe::Structure& description(describe::Tag<Backed>);
const describe::Structure& description(describe::Tag<Drilled>);

}  // namespace underway::model
