#include "saving/messages.hpp"

namespace underway::saving {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<CapsuleName>) {
  static const Structure s = Builder<CapsuleName>("capsule", "A capsule, by name.")
                                 .wire<&CapsuleName::ns>("Namespace", "Its namespace.")
                                 .wire<&CapsuleName::name>("Name", "Its name, within the namespace.")
                                 .done();
  return s;
}

const Structure& description(Tag<SnapshotRequest>) {
  static const Structure s =
      Builder<SnapshotRequest>("snapshot request", "Asks for a snapshot of a capsule's overlay to be taken.")
          .wire<&SnapshotRequest::capsule>("Capsule", "The capsule whose overlay is saved.")
          .wire<&SnapshotRequest::reason>("Reason", "What it is taken for, for people: \"by hand\", \"schedule\".")
          .wire<&SnapshotRequest::keep>("Keep", "How many stay of all that there are; absent: all.")
          .done();
  return s;
}

const Structure& description(Tag<BackupRequest>) {
  static const Structure s =
      Builder<BackupRequest>("backup request",
                             "Asks for a backup of a capsule's overlay, or for the list of those that there are.")
          .wire<&BackupRequest::capsule>("Capsule", "The capsule whose overlay is saved.")
          .wire<&BackupRequest::where>("Where", "Where backups are; empty: as the capsule's job says.")
          .wire<&BackupRequest::keep>(
              "Keep",
              "How many stay; absent: as the capsule's `backup` block has it, or all where Where names another place.")
          .wire<&BackupRequest::check_percent>(
              "CheckPercent",
              "How much of the repository is read again and compared afterwards, in percent; 0: nothing.")
          .done();
  return s;
}

const Structure& description(Tag<DrillRequest>) {
  static const Structure s =
      Builder<DrillRequest>("drill request", "Asks whether a snapshot or backup can be restored from.")
          .wire<&DrillRequest::capsule>("Capsule", "The capsule whose snapshot or backup is tried.")
          .wire<&DrillRequest::backup>("Backup", "A backup is tried, not a snapshot.")
          .wire<&DrillRequest::where>("Where", "Where backups are, with Backup; empty: as the capsule's job says.")
          .wire<&DrillRequest::snapshot>("Snapshot",
                                         "ID of the snapshot; empty: At counts. Without effect with Backup.")
          .wire<&DrillRequest::at>("At",
                                   "The newest that is not younger is tried, Unix time in nanoseconds; 0: the newest.")
          .wire<&DrillRequest::start>(
              "Start", "A clone is started from it and checked; false: digests are compared, and that is all.")
          .wire<&DrillRequest::scripts>("Scripts",
                                        "The site's programs that are run in the clone; each has to succeed.")
          .done();
  return s;
}

const Structure& description(Tag<FindRequest>) {
  static const Structure s =
      Builder<FindRequest>("find request", "Asks for what a capsule is to be restored from, as a snapshot on its node.")
          .wire<&FindRequest::capsule>("Capsule", "The capsule that is to be restored.")
          .wire<&FindRequest::backup>("Backup", "Of a backup, which is fetched to the node; false: of a snapshot.")
          .wire<&FindRequest::where>("Where", "Where backups are, with Backup; empty: as the capsule's job says.")
          .wire<&FindRequest::snapshot>("Snapshot", "ID of the snapshot; empty: At counts. Without effect with Backup.")
          .wire<&FindRequest::at>("At",
                                  "The newest that is not younger is found, Unix time in nanoseconds; 0: the newest.")
          .done();
  return s;
}

}  // namespace underway::saving
