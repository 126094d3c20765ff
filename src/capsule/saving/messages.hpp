#pragma once
/// @file
/// What is asked of a node about what it saves, over the link, as JSON: streams, each of which ends with one control
/// message.
///
///   "saving.snapshot"    SnapshotRequest    overlay::Snapshot
///   "saving.snapshots"   CapsuleName        Snapshots
///   "saving.backup"      BackupRequest      Backed
///   "saving.backups"     BackupRequest      Backups
///   "saving.drill"       DrillRequest       Drilled
///   "saving.find"        FindRequest        overlay::Snapshot: what is to be restored, as a snapshot on the node
///
/// And what a node tells its server: the call "saving.report", a model::CapsuleSaving.

#include "model/capsule/rehearsal.hpp"
#include "overlay/shelf.hpp"

namespace underway::saving {

/// Why the schedule takes a snapshot.
inline constexpr std::string_view kScheduled = "schedule";

struct CapsuleName {
  std::string ns, name;
};

/// Of backups. Without a repository: that of the capsule's `backup` block. All are paths and places on the node; what
/// is secret stays in the files.
struct Where {
  std::string repository;
  std::string password_file, environment_file, sftp_command;
};

struct SnapshotRequest {
  CapsuleName capsule;
  std::string reason = "by hand";
  std::optional<overlay::Retention> keep;  ///< of all that there are; absent: all stay
};

struct BackupRequest {
  CapsuleName capsule;
  Where where;
  std::optional<overlay::Retention> keep;  ///< absent: as the `backup` block has it, if that says where
  std::int64_t check_percent = 0;
};

struct DrillRequest {
  CapsuleName capsule;
  bool backup = false;   ///< else a snapshot
  Where where;           ///< of backups
  std::string snapshot;  ///< empty: the newest
  std::int64_t at = 0;   ///< the newest that is not younger, ns since the epoch; 0: the newest
  bool start = true;     ///< a clone, and runs its checks; else digests are compared and that is all
  std::vector<model::RehearsalScript> scripts;
};

struct FindRequest {
  CapsuleName capsule;
  bool backup = false;
  Where where;
  std::string snapshot;
  std::int64_t at = 0;
};

struct Snapshots {
  std::vector<overlay::Snapshot> snapshots;
};
struct Backups {
  std::vector<overlay::Backup> backups;
};
struct Backed {
  overlay::Backup backup;
  std::int64_t read_bytes = 0, added_bytes = 0;
  Duration took{0};
};
struct Drilled {
  overlay::Drill drill;
  std::string of;       ///< the snapshot or backup
  std::int64_t at = 0;  ///< its moment, ns since the epoch
  std::optional<model::Rehearsal> rehearsal;

  bool passed() const { return drill.problems.empty(); }
};

const describe::Structure& description(describe::Tag<CapsuleName>);
const describe::Structure& description(describe::Tag<Where>);
const describe::Structure& description(describe::Tag<SnapshotRequest>);
const describe::Structure& description(describe::Tag<BackupRequest>);
const describe::Structure& description(describe::Tag<DrillRequest>);
const describe::Structure& description(describe::Tag<FindRequest>);
const describe::Structure& description(describe::Tag<Snapshots>);
const describe::Structure& description(describe::Tag<Backups>);
const describe::Structure& description(describe::Tag<Backed>);
const describe::Structure& description(describe::Tag<Drilled>);

}  // namespace underway::saving
