#pragma once
/// @file
/// What is saved of one capsule on its node, and how often: snapshots beside its overlay, and backups elsewhere. Opens
/// the overlay for each call and leaves it as it was: mounted when the capsule runs, closed otherwise.
///
///     <dir>/overlay, <dir>/snapshots        <dir>: "<agent data_dir>/capsules/<namespace>/<name>"
///     <dir>/turn                            the lock of whoever works on them, in whatever process
///     <dir>/still                           of whoever does while the capsule stands: it must not start meanwhile

#include <optional>

#include "os/file.hpp"
#include "overlay/backup/backup.hpp"

namespace underway::overlay {

/// snapshot { every = "1h"  keep { last = 3  hourly = 24  daily = 7 } }
struct SnapshotSchedule {
  Duration every{0};  ///< 0: only by hand, and before moves and upgrades
  std::optional<Retention> keep;
};
/// backup { repository = "sftp:…"  password_file = "…"  every = "24h"  keep { daily = 30 }  drill_every = "168h" }
struct BackupSchedule {
  std::string repository;
  std::string password_file;
  std::string sftp_command;
  std::map<std::string, std::string> environment;
  std::string environment_file;  ///< read when it is used; mode 0600
  Duration every{0};
  Duration drill_every{0};
  std::int64_t check_percent = 0;  ///< of all data, after each backup
  std::optional<Retention> keep;

  /// Reads the environment file. Errors: invalid, not_found.
  Repository where() const;
};
const describe::Structure& description(describe::Tag<SnapshotSchedule>);
const describe::Structure& description(describe::Tag<BackupSchedule>);
/// Everything that is wrong; looks at no disk. Pure.
std::vector<std::string> problems(const SnapshotSchedule& schedule);
std::vector<std::string> problems(const BackupSchedule& schedule);
/// Whether it is time again. `last`: of the last one; nothing: there was none. Pure.
bool is_due(Duration every, std::optional<TimePoint> last, TimePoint now);

/// Taken to start a capsule: nobody works on its overlay as on one that stands. Errors: conflict, naming who does, when
/// it is not free within `patience`. Blocks: so long.
os::FileLock hold_still(const std::string& dir, Duration patience, const std::string& what_for);
/// Taken to save or copy the overlay of a capsule that runs: one at a time makes its writers stand still. As
/// hold_still.
os::FileLock take_turn(const std::string& dir, Duration patience, const std::string& what_for);

struct SnapshotStoreOptions {
  Options overlay;
  std::string capsule;                           ///< "default/slurm-services"
  std::string image;                             ///< that it runs, or ran last
  bool running = false;                          ///< something writes to the overlay
  std::function<void(bool)> quiesce;             ///< SnapshotRequest::quiesce
  Duration patience = std::chrono::seconds{30};  ///< with others who work on it
};

class SnapshotStore {
 public:
  /// `clock` names snapshots and ages them; it outlives the store. Errors: not_found when the capsule has no overlay
  /// here.
  SnapshotStore(std::string dir, SnapshotStoreOptions options, const Clock& clock);

  Snapshot take(const std::string& reason, const Retention& keep = {});
  std::vector<Snapshot> list() const { return list_snapshots(snapshots_); }
  void remove(const std::string& id);
  /// Removes all but the newest `count` of those whose reason begins so.
  void keep_last(std::string_view reason, std::size_t count);
  /// Brings what a snapshot holds back as the directory `upper`, which must not exist; whole, or not at all.
  void extract(const std::string& id, const std::string& upper) const;

  /// All three: conflict while it runs. What the overlay was is kept as a snapshot "before restore", which is returned.
  Snapshot restore(const std::string& id);
  Snapshot restore(const Repository& repository, const Backup& backup);
  /// The same without keeping what it was: for one who has saved it, or who knows that it is of no use.
  void go_back(const std::string& id);
  /// Back to what it was when it last ran another image. `target` says to which image the job is to be reverted.
  struct RolledBack {
    Snapshot target, before;
  };
  RolledBack roll_back();

  /// A backup as a snapshot of that time: from there it is restored and tried as any other.
  Snapshot bring(const Repository& repository, const Backup& backup, const std::string& reason);

  /// Of a fresh snapshot, which goes again. While the capsule runs others may work on the overlay meanwhile.
  BackupResult back_up(const Repository& repository, const Retention& keep_backups);
  /// Of the newest snapshot, or of a backup. See run_drill.
  using Check = std::function<std::vector<std::string>(const std::string& upper)>;
  Drill drill(const Check& check);
  Drill drill(const Repository& repository, const Backup& backup, const Check& check);

 private:
  template <class Step>
  auto with_overlay(Step step) const;
  void refuse_running() const;
  struct Turn {
    os::FileLock turn;
    std::optional<os::FileLock> still;
  };
  Turn turn(const std::string& what_for) const;
  Snapshot take_now(const std::string& reason, const Retention& keep);
  std::string dir_, snapshots_;
  SnapshotStoreOptions options_;
  const Clock& clock_;
};

/// The newest snapshot of another image than `image`; throws not_found. Pure.
Snapshot rollback_target(const std::vector<Snapshot>& list, const std::string& image);

}  // namespace underway::overlay
