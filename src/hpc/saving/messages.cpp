#include "saving/messages.hpp"

namespace underway::saving {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<CapsuleName>) {
  static const Structure s = Builder<CapsuleName>("capsule", "")
                                 .wire<&CapsuleName::ns>("Namespace", "")
                                 .wire<&CapsuleName::name>("Name", "")
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
  static const Structure s = Builder<SnapshotRequest>("snapshot request", "")
                                 .wire<&SnapshotRequest::capsule>("Capsule", "")
                                 .wire<&SnapshotRequest::reason>("Reason", "")
                                 .wire<&SnapshotRequest::keep>("Keep", "")
                                 .done();
  return s;
}

const Structure& description(Tag<BackupRequest>) {
  static const Structure s = Builder<BackupRequest>("backup request", "")
                                 .wire<&BackupRequest::capsule>("Capsule", "")
                                 .wire<&BackupRequest::where>("Where", "")
                                 .wire<&BackupRequest::keep>("Keep", "")
                                 .wire<&BackupRequest::check_percent>("CheckPercent", "")
                                 .done();
  return s;
}

const Structure& description(Tag<DrillRequest>) {
  static const Structure s = Builder<DrillRequest>("drill request", "")
                                 .wire<&DrillRequest::capsule>("Capsule", "")
                                 .wire<&DrillRequest::backup>("Backup", "")
                                 .wire<&DrillRequest::where>("Where", "")
                                 .wire<&DrillRequest::snapshot>("Snapshot", "")
                                 .wire<&DrillRequest::at>("At", "")
                                 .wire<&DrillRequest::start>("Start", "")
                                 .wire<&DrillRequest::scripts>("Scripts", "")
                                 .done();
  return s;
}

const Structure& description(Tag<FindRequest>) {
  static const Structure s = Builder<FindRequest>("find request", "")
                                 .wire<&FindRequest::capsule>("Capsule", "")
                                 .wire<&FindRequest::backup>("Backup", "")
                                 .wire<&FindRequest::where>("Where", "")
                                 .wire<&FindRequest::snapshot>("Snapshot", "")
                                 .wire<&FindRequest::at>("At", "")
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
