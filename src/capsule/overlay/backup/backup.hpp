#pragma once
/// @file
/// Backups of overlays, encrypted, elsewhere: a directory, an SFTP server or an S3 bucket, by restic(1). What is backed
/// up is a snapshot, so that it is of one moment; each backup says which image it belongs to, and carries a digest that
/// is compared when it comes back.
///
/// Secrets: the password is in a file that only its owner may read; credentials of S3 are in `environment`. Neither
/// gets into arguments or errors. Whoever loses the password has lost the backups.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "overlay/snapshot/snapshot.hpp"

namespace underway::overlay {

using model::Backup;
using model::Drill;

struct Repository {
  std::string url;            ///< "/srv/backup", "sftp:backup@host:/srv/backup", "s3:https://s3.example.org/bucket"
  std::string password_file;  ///< mode 0600 or less
  /// AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, HOME, …: nothing else of ours reaches restic.
  std::map<std::string, std::string> environment;
  /// What restic runs for SFTP instead of plain ssh: "ssh -i /etc/underway/backup.key backup@host -s sftp".
  std::string sftp_command;
  std::string cache_dir;  ///< empty: nothing is kept here, and listing takes longer
};
/// Lines NAME=value of a file that only its owner may read; empty ones and those with '#' are left out. Errors:
/// invalid, not_found.
std::map<std::string, std::string> read_environment(const std::string& file);
/// Everything that is wrong, each a sentence; looks at the password file.
std::vector<std::string> problems(const Repository& repository);

struct BackupResult {
  Backup backup;
  std::uint64_t read_bytes = 0;
  std::uint64_t added_bytes = 0;  ///< to the repository, which had the rest
  Duration took{};
};

/// Errors of all: invalid (`problems`), denied (wrong password), not_found (no repository there), unavailable (not to
/// be reached), exhausted, conflict (somebody else works there). Block: as long as it takes.

/// Makes the repository unless there is one.
void make_repository(const Repository& repository);
/// `upper`: a snapshot's (SnapshotView).
BackupResult back_up(const Repository& repository, const std::string& capsule, const std::string& upper,
                     const Snapshot& snapshot);
/// Of one capsule, oldest first.
std::vector<Backup> list_backups(const Repository& repository, const std::string& capsule);
/// The newest that is not younger than `at`. Throws not_found, naming the oldest.
Backup backup_at(const std::vector<Backup>& list, TimePoint at);
/// Brings it back as the directory `upper`, which must not exist; whole, or not at all.
void fetch_backup(const Repository& repository, const Backup& backup, const std::string& upper);
/// Brings it back as a consistent copy in `dir` (transfer.hpp); whole, or not at all.
void fetch_as_copy(const Repository& repository, const Backup& backup, const std::string& dir);
/// The overlay, which nothing may use, becomes what it was then; whole, or not at all.
void restore_backup(const Repository& repository, const Backup& backup, Mounted& overlay);
/// Reads a part of all data, in percent, and compares it with its digests; 0: only the structure.
void check_repository(const Repository& repository, int percent);
/// Removes what `retention` does not want, and the data that nobody needs then. Returns the ids.
std::vector<std::string> forget_backups(const Repository& repository, const std::string& capsule,
                                        const Retention& retention);

/// Restores into `scratch` by `restore(upper)`, gives it to `check(upper)`, which starts the capsule apart from
/// everything and says what is wrong, and removes it. A failure of either is a problem and not an error.
Drill run_drill(const std::string& scratch, const std::function<void(const std::string& upper)>& restore,
                const std::function<std::vector<std::string>(const std::string& upper)>& check);

}  // namespace underway::overlay
