#include "overlay/snapshot_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {

const describe::Structure& description(describe::Tag<SnapshotSchedule>) {
  static const auto kStructure =
      describe::Builder<SnapshotSchedule>("snapshot", "When snapshots of the overlay are taken.")
          .attribute<&SnapshotSchedule::every>("every", "Every", "How often; 0: only by hand, and before a change.")
          .block<&SnapshotSchedule::keep>("keep", "Keep", "How many are kept; without: all.")
          .done();
  return kStructure;
}

const describe::Structure& description(describe::Tag<BackupSchedule>) {
  static const auto kStructure =
      describe::Builder<BackupSchedule>("backup", "When and where the overlay is backed up.")
          .attribute<&BackupSchedule::repository>("repository", "Repository",
                                                  "A directory, sftp:user@host:/directory or s3:https://host/bucket.")
          .attribute<&BackupSchedule::password_file>("password_file", "PasswordFile",
                                                     "Holds the password of the encryption; mode 0600.")
          .attribute<&BackupSchedule::sftp_command>("sftp_command", "SFTPCommand", "Instead of plain ssh.")
          .attribute<&BackupSchedule::environment>("environment", "Environment",
                                                   "For restic, without secrets: AWS_DEFAULT_REGION, HOME, ….")
          .attribute<&BackupSchedule::environment_file>(
              "environment_file", "EnvironmentFile",
              "On the node, mode 0600: lines NAME=value for restic, AWS_SECRET_ACCESS_KEY among them.")
          .attribute<&BackupSchedule::every>("every", "Every", "How often; 0: only by hand.")
          .attribute<&BackupSchedule::drill_every>("drill_every", "DrillEvery",
                                                   "How often the newest is restored and tried; 0: never.")
          .attribute<&BackupSchedule::check_percent>("check_percent", "CheckPercent",
                                                     "How much of all data is read and compared after each backup.")
          .block<&BackupSchedule::keep>("keep", "Keep", "How many are kept; without: all.")
          .done();
  return kStructure;
}

Repository BackupSchedule::where() const {
  Repository where{.url = repository,
                   .password_file = password_file,
                   .environment = environment,
                   .sftp_command = sftp_command,
                   .cache_dir = {}};
  if (!environment_file.empty()) {
    for (auto& [name, value] : read_environment(environment_file)) where.environment[name] = std::move(value);
  }
  return where;
}

namespace {

void check_keep(const std::optional<Retention>& keep, std::vector<std::string>& list) {
  if (!keep) return;
  if (keep->last < 0 || keep->hourly < 0 || keep->daily < 0 || keep->weekly < 0)
    list.emplace_back("`keep` counts what is kept: a number is below 0");
}

}  // namespace

std::vector<std::string> problems(const SnapshotSchedule& schedule) {
  std::vector<std::string> list;
  if (schedule.every < Duration{0}) list.emplace_back("`every` of snapshot is below 0");
  if (schedule.every > Duration{0} && schedule.every < std::chrono::minutes{1})
    list.emplace_back("`every` of snapshot is less than a minute");
  check_keep(schedule.keep, list);
  return list;
}

std::vector<std::string> problems(const BackupSchedule& schedule) {
  std::vector<std::string> list;
  if (schedule.repository.empty()) list.emplace_back("backup needs a `repository`");
  if (schedule.password_file.empty()) list.emplace_back("backup needs a `password_file`");
  if (schedule.every < Duration{0} || schedule.drill_every < Duration{0})
    list.emplace_back("`every` and `drill_every` of backup must not be below 0");
  if (schedule.check_percent < 0 || schedule.check_percent > 100)
    list.emplace_back("`check_percent` of backup is from 0 to 100");
  if (schedule.environment.contains("AWS_SECRET_ACCESS_KEY"))
    list.emplace_back("a secret does not belong into a job: put AWS_SECRET_ACCESS_KEY into `environment_file`");
  check_keep(schedule.keep, list);
  return list;
}

bool is_due(Duration every, std::optional<TimePoint> last, TimePoint now) {
  if (every <= Duration{0}) return false;
  return !last || now >= *last + every || now < *last;  // a clock that went back must not stop it
}

Snapshot rollback_target(const std::vector<Snapshot>& list, const std::string& image) {
  const auto other = [&](const Snapshot& snapshot) { return !snapshot.image.empty() && snapshot.image != image; };
  const auto found = std::find_if(list.rbegin(), list.rend(), other);
  if (found != list.rend()) return *found;
  throw Error(Code::not_found, "there is nothing to roll back to")
      .because(fmt::format("none of the {} snapshots is of another image than {}", list.size(), image))
      .advise("to go back with the same image, restore a snapshot");
}

namespace {

os::FileLock wait_for(const std::string& path, Duration patience, const std::string& what_for) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    if (auto turn = os::FileLock::try_acquire(path, what_for)) return *std::move(turn);
    if (std::chrono::steady_clock::now() >= deadline) return os::FileLock::acquire(path, what_for);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
  }
}

}  // namespace

os::FileLock hold_still(const std::string& dir, Duration patience, const std::string& what_for) {
  return wait_for(dir + "/still", patience, what_for);
}

os::FileLock take_turn(const std::string& dir, Duration patience, const std::string& what_for) {
  return wait_for(dir + "/turn", patience, what_for);
}

SnapshotStore::SnapshotStore(std::string dir, SnapshotStoreOptions options, const Clock& clock)
    : dir_(std::move(dir)), snapshots_(dir_ + "/snapshots"), options_(std::move(options)), clock_(clock) {
  if (!find_overlay(dir_ + "/overlay"))
    throw Error(Code::not_found, fmt::format("the capsule '{}' has no overlay on this node", options_.capsule))
        .because(fmt::format("there is none in '{}/overlay'", dir_));
}

void SnapshotStore::refuse_running() const {
  if (!options_.running) return;
  throw Error(Code::conflict, fmt::format("the capsule '{}' runs", options_.capsule))
      .because("what it writes would be lost, and it would not see what is restored")
      .advise("stop its job first");
}

template <class Step>
auto SnapshotStore::with_overlay(Step step) const {
  const auto place = dir_ + "/overlay";
  const bool was_open = os::is_mount_point(place + "/mnt");
  auto overlay = open_overlay(*find_overlay(place), place, options_.overlay);
  // Whatever becomes of the step, what the capsule runs on stays mounted.
  struct Leave {
    Mounted& overlay;
    bool open;
    ~Leave() {
      if (open) overlay.release();
    }
  } const leave{overlay, was_open};
  return step(overlay);
}

SnapshotStore::Turn SnapshotStore::turn(const std::string& what_for) const {
  const auto what = fmt::format("{} of {}", what_for, options_.capsule);
  Turn turn{take_turn(dir_, options_.patience, what), {}};
  if (!options_.running) turn.still = hold_still(dir_, options_.patience, what);
  return turn;
}

Snapshot SnapshotStore::take(const std::string& reason, const Retention& keep) {
  const auto held = turn("a snapshot");
  return take_now(reason, keep);
}

Snapshot SnapshotStore::take_now(const std::string& reason, const Retention& keep) {
  return with_overlay([&](Mounted& overlay) {
    const SnapshotRequest request{.reason = reason,
                                  .image = options_.image,
                                  .quiesce = options_.running ? options_.quiesce : nullptr,
                                  .idle = !options_.running,
                                  .now = clock_.now(),
                                  .on_step = {}};
    auto snapshot = take_snapshot(overlay, snapshots_, request);
    for (const auto& id : superfluous(list(), keep)) remove_snapshot(overlay, snapshots_, id);
    return snapshot;
  });
}

void SnapshotStore::remove(const std::string& id) {
  const auto held = turn("removing a snapshot");
  with_overlay([&](Mounted& overlay) { remove_snapshot(overlay, snapshots_, id); });
}

void SnapshotStore::keep_last(std::string_view reason, std::size_t count) {
  auto list = this->list();
  std::erase_if(list, [&](const auto& snapshot) { return !snapshot.reason.starts_with(reason); });
  for (std::size_t i = 0; i + count < list.size(); ++i) remove(list[i].id);
}

void SnapshotStore::extract(const std::string& id, const std::string& upper) const {
  const auto held = turn("reading a snapshot");
  const auto staged = upper + ".copy";
  with_overlay([&](Mounted& overlay) { extract_snapshot(overlay, snapshots_, id, staged); });
  install_copy(staged, upper);
  remove_copy(staged);
}

Snapshot SnapshotStore::restore(const std::string& id) {
  const auto held = turn("a restore");
  refuse_running();
  get_snapshot(snapshots_, id);
  auto before = take_now("before restore", {});
  with_overlay([&](Mounted& overlay) { overlay = restore_snapshot(std::move(overlay), snapshots_, id); });
  return before;
}

void SnapshotStore::go_back(const std::string& id) {
  const auto held = turn("going back");
  refuse_running();
  get_snapshot(snapshots_, id);
  with_overlay([&](Mounted& overlay) { overlay = restore_snapshot(std::move(overlay), snapshots_, id); });
}

Snapshot SnapshotStore::restore(const Repository& repository, const Backup& backup) {
  const auto held = turn("a restore");
  refuse_running();
  auto before = take_now("before restore", {});
  with_overlay([&](Mounted& overlay) { restore_backup(repository, backup, overlay); });
  return before;
}

SnapshotStore::RolledBack SnapshotStore::roll_back() {
  refuse_running();
  auto target = rollback_target(list(), options_.image);
  auto before = restore(target.id);
  return {std::move(target), std::move(before)};
}

Snapshot SnapshotStore::bring(const Repository& repository, const Backup& backup, const std::string& reason) {
  const auto place = dir_ + "/bring";
  const auto ours = os::FileLock::acquire(place + ".lock", reason);
  os::remove_tree(place);
  fetch_as_copy(repository, backup, place + "/copy");
  const auto held = turn("bringing a backup");
  Snapshot snapshot{.at = backup.at, .method = SnapshotMethod::copy, .reason = reason, .image = backup.image};
  snapshot = adopt_copy(snapshots_, place + "/copy", snapshot);
  os::remove_tree(place);
  return snapshot;
}

BackupResult SnapshotStore::back_up(const Repository& repository, const Retention& keep_backups) {
  make_repository(repository);
  std::optional<Turn> held = turn("a backup");
  const auto snapshot = take_now("backup", {});
  // It takes long, and a capsule that fails meanwhile must be able to start again.
  if (options_.running) held.reset();
  const auto drop = [&](Mounted& overlay) {
    if (!held) held = turn("removing a snapshot");
    remove_snapshot(overlay, snapshots_, snapshot.id);
  };
  auto result = with_overlay([&](Mounted& overlay) {
    BackupResult made;
    try {
      const SnapshotView view(overlay, snapshots_, snapshot);
      made = overlay::back_up(repository, options_.capsule, view.upper(), snapshot);
    } catch (const Error&) {
      drop(overlay);
      throw;
    }
    drop(overlay);
    return made;
  });
  held.reset();
  forget_backups(repository, options_.capsule, keep_backups);
  return result;
}

Drill SnapshotStore::drill(const Check& check) {
  const auto all = list();
  if (all.empty())
    throw Error(Code::not_found, fmt::format("the capsule '{}' has no snapshot to try", options_.capsule));
  return run_drill(dir_ + "/drill", [&](const std::string& upper) { extract(all.back().id, upper); }, check);
}

Drill SnapshotStore::drill(const Repository& repository, const Backup& backup, const Check& check) {
  const auto bring = [&](const std::string& upper) { fetch_backup(repository, backup, upper); };
  return run_drill(dir_ + "/drill", bring, check);
}

}  // namespace underway::overlay
