#include "model/capsule/saved.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<SnapshotMethod>) {
  static const auto kEnumeration = describe::enumeration<SnapshotMethod>("Method");
  return kEnumeration;
}

const Structure& description(Tag<Snapshot>) {
  static const auto kStructure = Builder<Snapshot>("Snapshot", "A snapshot of an overlay.")
                                     .wire<&Snapshot::version>("Version", "Of this form.")
                                     .wire<&Snapshot::id>("ID", "Its name.")
                                     .wire<&Snapshot::at>("At", "When, in nanoseconds since the epoch.")
                                     .wire<&Snapshot::method>("Method", "How it is kept.")
                                     .wire<&Snapshot::reason>("Reason", "What it was taken for.")
                                     .wire<&Snapshot::image>("Image", "What the capsule ran then.")
                                     .wire<&Snapshot::frozen>("Frozen", "For how long writers waited.")
                                     .wire<&Snapshot::size_bytes>("SizeBytes", "Of the file system.")
                                     .wire<&Snapshot::file>("File", "The clone.")
                                     .wire<&Snapshot::complete>("Complete", "Whether it counts.")
                                     .done();
  return kStructure;
}

const Structure& description(Tag<Retention>) {
  static const auto kStructure = Builder<Retention>("keep", "How many snapshots or backups to keep.")
                                     .attribute<&Retention::last>("last", "Last", "The newest.")
                                     .attribute<&Retention::hourly>("hourly", "Hourly", "The newest of each hour.")
                                     .attribute<&Retention::daily>("daily", "Daily", "The newest of each day.")
                                     .attribute<&Retention::weekly>("weekly", "Weekly", "The newest of each week.")
                                     .done();
  return kStructure;
}

const Structure& description(Tag<Backup>) {
  static const auto kStructure = Builder<Backup>("Backup", "A backup of a capsule's overlay.")
                                     .wire<&Backup::id>("ID", "Its name.")
                                     .wire<&Backup::at>("At", "Of when it is, in nanoseconds since the epoch.")
                                     .wire<&Backup::capsule>("Capsule", "Of which capsule.")
                                     .wire<&Backup::image>("Image", "What the capsule ran.")
                                     .wire<&Backup::snapshot>("Snapshot", "What it was made of.")
                                     .wire<&Backup::digest>("Digest", "Of names, attributes and content.")
                                     .done();
  return kStructure;
}

const Structure& description(Tag<Drill>) {
  static const auto kStructure = Builder<Drill>("Drill", "Whether what was saved is worth something.")
                                     .wire<&Drill::restored>("Restored", "What restoring took.")
                                     .wire<&Drill::checked>("Checked", "What starting and checking took.")
                                     .wire<&Drill::problems>("Problems", "What was wrong.")
                                     .done();
  return kStructure;
}

const Structure& description(Tag<BackupPlace>) {
  static const Structure s =
      Builder<BackupPlace>("Where", "Where backups are, as the capsule's node has it.")
          .wire<&BackupPlace::repository>("Repository", "A directory, sftp:… or s3:…; empty: as its job says.")
          .wire<&BackupPlace::password_file>("PasswordFile", "On the node.")
          .wire<&BackupPlace::environment_file>("EnvironmentFile", "On the node: NAME=value lines for restic.")
          .wire<&BackupPlace::sftp_command>("SFTPCommand", "Instead of plain ssh.")
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

}  // namespace underway::model
