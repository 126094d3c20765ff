#include "wire/capsule/saving.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<TakeSnapshot>) {
  static const Structure s =
      Builder<TakeSnapshot>("TakeSnapshot", "A snapshot to be taken.")
          .wire<&TakeSnapshot::reason>("Reason", "What it is taken for.")
          .wire<&TakeSnapshot::keep>("Keep", "How many stay of those that there are; absent: all.")
          .done();
  return s;
}

const Structure& description(Tag<MakeBackup>) {
  static const Structure s =
      Builder<MakeBackup>("MakeBackup", "A backup to be made.")
          .wire<&MakeBackup::where>("Where", "Paths on the capsule's node; empty: as its job says.")
          .wire<&MakeBackup::keep>("Keep", "How many stay; absent: as its job says, or all.")
          .wire<&MakeBackup::check_percent>("CheckPercent", "How much is read again and compared.")
          .done();
  return s;
}

const Structure& description(Tag<RestoreCapsule>) {
  static const Structure s =
      Builder<RestoreCapsule>("RestoreCapsule", "What a capsule's overlay shall become.")
          .wire<&RestoreCapsule::snapshot>("Snapshot", "Its id; or")
          .wire<&RestoreCapsule::at>("At", "the newest that is not younger.")
          .wire<&RestoreCapsule::backup>("Backup", "Of a backup, not of a snapshot.")
          .wire<&RestoreCapsule::where>("Where", "Paths on the capsule's node; empty: as its job says.")
          .done();
  return s;
}

const Structure& description(Tag<RestoredCapsule>) {
  static const Structure s =
      Builder<RestoredCapsule>("RestoredCapsule", "A restore that has begun.")
          .wire<&RestoredCapsule::upgrade_id>("UpgradeID", "It is followed in the capsule's record as an upgrade is.")
          .wire<&RestoredCapsule::snapshot>("Snapshot", "What it becomes.")
          .done();
  return s;
}

const Structure& description(Tag<MakeDrill>) {
  static const Structure s =
      Builder<MakeDrill>("MakeDrill", "What is to be tried.")
          .wire<&MakeDrill::backup>("Backup", "A backup is tried, not a snapshot.")
          .wire<&MakeDrill::where>("Where", "Paths on the capsule's node; empty: as its job says.")
          .wire<&MakeDrill::snapshot>("Snapshot", "Its id; empty: the newest.")
          .wire<&MakeDrill::at>("At", "The newest that is not younger; 0: the newest.")
          .wire<&MakeDrill::only_compare>("OnlyCompare", "Nothing is started: digests are compared, and that is all.")
          .wire<&MakeDrill::scripts>("Scripts", "Programs that are run in the clone.")
          .done();
  return s;
}

}  // namespace underway::wire
