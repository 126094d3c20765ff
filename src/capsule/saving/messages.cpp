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

const Structure& description(Tag<Where>) {
  static const Structure s =
      Builder<Where>("Where", "Where backups are, as the capsule's node has it.")
          .wire<&Where::repository>("Repository", "A directory, sftp:… or s3:…; empty: as its job says.")
          .wire<&Where::password_file>("PasswordFile", "On the node.")
          .wire<&Where::environment_file>("EnvironmentFile", "On the node: NAME=value lines for restic.")
          .wire<&Where::sftp_command>("SFTPCommand", "Instead of plain ssh.")
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

const Structure& description(Tag<Snapshots>) {
  static const Structure s =
      Builder<Snapshots>("Snapshots", "Of a capsule.").wire<&Snapshots::snapshots>("Snapshots", "Oldest first.").done();
  return s;
}

const Structure& description(Tag<Backups>) {
  static const Structure s =
      Builder<Backups>("Backups", "Of a capsule.").wire<&Backups::backups>("Backups", "Oldest first.").done();
  return s;
}

const Structure& description(Tag<Backed>) {
  static const Structure s = Builder<Backed>("Backed", "A backup that was made.")
                                 .wire<&Backed::backup>("Backup", "What it is.")
                                 .wire<&Backed::read_bytes>("ReadBytes", "Of the overlay.")
                                 .wire<&Backed::added_bytes>("AddedBytes", "To the repository, which had the rest.")
                                 .wire<&Backed::took>("Took", "How long.")
                                 .done();
  return s;
}

const Structure& description(Tag<Drilled>) {
  static const Structure s = Builder<Drilled>("Drilled", "Whether what was saved is worth something.")
                                 .wire<&Drilled::drill>("Drill", "How restoring it went.")
                                 .wire<&Drilled::of>("Of", "The snapshot or backup.")
                                 .wire<&Drilled::at>("At", "Its moment.")
                                 .time()
                                 .wire<&Drilled::rehearsal>("Rehearsal", "What a clone that started from it found.")
                                 .done();
  return s;
}

}  // namespace underway::saving
