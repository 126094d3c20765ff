#pragma once
/// @file
/// What is asked of a node about what it saves, over the link, as JSON: streams, each of which ends with one control
/// message.
///
///   "saving.snapshot"    SnapshotRequest    model::Snapshot
///   "saving.snapshots"   CapsuleName        Snapshots
///   "saving.backup"      BackupRequest      Backed
///   "saving.backups"     BackupRequest      Backups
///   "saving.drill"       DrillRequest       Drilled
///   "saving.find"        FindRequest        model::Snapshot: what is to be restored, as a snapshot on the node
///
/// And what a node tells its server: the call "saving.report", a model::CapsuleSaving.

#include "model/capsule/saved.hpp"

namespace underway::saving {

using model::Backed;
using model::BackupPlace;
using model::Backups;
using model::Drilled;
using model::Snapshots;

/// Why the schedule takes a snapshot.
inline constexpr std::string_view kScheduled = "schedule";

struct CapsuleName {
  std::string ns, name;
};

struct SnapshotRequest {
  CapsuleName capsule;
  std::string reason = "by hand";
  std::optional<model::Retention> keep;  ///< of all that there are; absent: all stay
};

struct BackupRequest {
  CapsuleName capsule;
  BackupPlace where;
  std::optional<model::Retention> keep;  ///< absent: as the `backup` block has it, if that says where
  std::int64_t check_percent = 0;
};

struct DrillRequest {
  CapsuleName capsule;
  bool backup = false;   ///< else a snapshot
  BackupPlace where;     ///< of backups
  std::string snapshot;  ///< empty: the newest
  std::int64_t at = 0;   ///< the newest that is not younger, ns since the epoch; 0: the newest
  bool start = true;     ///< a clone, and runs its checks; else digests are compared and that is all
  std::vector<model::RehearsalScript> scripts;
};

struct FindRequest {
  CapsuleName capsule;
  bool backup = false;
  BackupPlace where;
  std::string snapshot;
  std::int64_t at = 0;
};

const describe::Structure& description(describe::Tag<CapsuleName>);
const describe::Structure& description(describe::Tag<SnapshotRequest>);
const describe::Structure& description(describe::Tag<BackupRequest>);
const describe::Structure& description(describe::Tag<DrillRequest>);
const describe::Structure& description(describe::Tag<FindRequest>);

}  // namespace underway::saving
