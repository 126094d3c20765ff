#include "overlay/backup/backup.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "overlay/backup/detail/restic.hpp"
#include "overlay/transfer/detail/copy.hpp"
#include "overlay/transfer/detail/scan.hpp"

namespace underway::overlay {
namespace {

using std::chrono::steady_clock;

/// "2026-11-21 23:41:03" in UTC, as restic reads it.
std::string restic_time(std::int64_t at) {
  auto text = format_time(from_unix_nanos(at));
  text.resize(19);
  text[10] = ' ';
  return text;
}

std::uint64_t number(const boost::json::object& object, std::string_view name) {
  const auto* found = object.if_contains(name);
  return found != nullptr && found->is_int64() && found->get_int64() > 0
             ? static_cast<std::uint64_t>(found->get_int64())
             : 0;
}

/// What `restic backup --json` says last.
boost::json::object summary_of(const std::string& output) {
  std::string last;
  for (auto& line : split(output, '\n')) {
    if (line.find("\"summary\"") != std::string::npos) last = std::move(line);
  }
  const auto json = json::parse(last.empty() ? "null" : last);
  if (!json.is_object()) throw Error(Code::internal, "restic does not say what it has backed up");
  return json.get_object();
}

/// The one directory that a backup consists of, below `dir`.
std::string fetched(const std::string& dir) {
  const auto entries = os::list_directory(dir);
  if (entries.size() != 1 || entries[0].type != DT_DIR)
    throw Error(Code::internal, "the backup is none of an overlay").because("it is not one directory");
  return dir + "/" + entries[0].name;
}

/// Restores below `dir` and compares; returns where the tree is.
std::string fetch_checked(const Repository& repository, const Backup& backup, const std::string& dir) {
  os::remove_tree(dir);
  os::make_directories(dir, 0700);
  run_restic(repository, {"restore", "--quiet", "--target", dir, backup.id});
  auto tree = fetched(dir);
  if (!backup.digest.empty() && hex(read_index(tree).digest()) != backup.digest)
    throw Error(Code::internal, fmt::format("the backup '{}' is damaged", backup.id.substr(0, 8)))
        .because("what came back is not what was backed up")
        .advise("check the repository, and restore another backup");
  return tree;
}

}  // namespace

void make_repository(const Repository& repository) {
  try {
    run_restic(repository, {"cat", "config"});
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
    run_restic(repository, {"init"});
  }
}

BackupResult back_up(const Repository& repository, const std::string& capsule, const std::string& upper,
                     const Snapshot& snapshot) {
  const auto since = steady_clock::now();
  const std::filesystem::path path(upper);
  BackupResult result;
  result.backup = {.at = snapshot.at, .capsule = capsule, .image = snapshot.image, .snapshot = snapshot.id};
  result.backup.digest = hex(read_index(upper).digest());
  // Locks of those that died; those of the living stay.
  run_restic(repository, {"unlock", "--quiet"});
  const auto output = run_restic(
      repository,
      {"backup", "--json", "--host", capsule, "--time", restic_time(snapshot.at), "--tag", "image=" + snapshot.image,
       "--tag", "snapshot=" + snapshot.id, "--tag", "digest=" + result.backup.digest, path.filename().string()},
      path.parent_path().string());
  const auto summary = summary_of(output);
  result.read_bytes = number(summary, "total_bytes_processed");
  result.added_bytes = number(summary, "data_added");
  const auto* id = summary.if_contains("snapshot_id");
  if (id == nullptr || !id->is_string()) throw Error(Code::internal, "restic does not say how the backup is called");
  result.backup.id = std::string(id->get_string());
  result.took = steady_clock::now() - since;
  return result;
}

std::vector<Backup> list_backups(const Repository& repository, const std::string& capsule) {
  return parse_backups(run_restic(repository, {"snapshots", "--json", "--host", capsule}));
}

Backup backup_at(const std::vector<Backup>& list, TimePoint at) {
  const auto later = [&](const Backup& backup) { return from_unix_nanos(backup.at) > at; };
  const auto end = std::find_if(list.begin(), list.end(), later);
  if (end != list.begin()) return *std::prev(end);
  Error error(Code::not_found, fmt::format("there is no backup of {} or before", format_time(at)));
  if (list.empty()) throw std::move(error).because("there is none at all");
  throw std::move(error).because(fmt::format("the oldest is of {}", format_time(from_unix_nanos(list.front().at))));
}

void fetch_backup(const Repository& repository, const Backup& backup, const std::string& upper) {
  if (os::exists(upper))
    throw Error(Code::conflict, fmt::format("cannot restore into '{}'", upper)).because("it exists");
  const auto partial = upper + ".partial";
  try {
    const auto tree = fetch_checked(repository, backup, partial);
    if (::renameat2(AT_FDCWD, tree.c_str(), AT_FDCWD, upper.c_str(), RENAME_NOREPLACE) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}'", upper));
  } catch (const Error&) {
    os::remove_tree(partial);
    throw;
  }
  os::remove_tree(partial);
}

void fetch_as_copy(const Repository& repository, const Backup& backup, const std::string& dir) {
  const CopyPlaces places(dir);
  os::remove_tree(places.dir);
  os::make_directories(places.dir, 0700);
  fetch_backup(repository, backup, places.tree);
  struct stat tree = {};
  if (::stat(places.tree.c_str(), &tree) != 0)
    throw errno_error(errno, fmt::format("cannot look at '{}'", places.tree));
  write_copy_state(places, {.consistent = true,
                            .at = backup.at,
                            .label = backup.id,
                            .digest = backup.digest,
                            .tree_inode = static_cast<std::int64_t>(tree.st_ino)});
}

void restore_backup(const Repository& repository, const Backup& backup, Mounted& overlay) {
  // As if it had come over as a copy: it takes the layer's place in one step.
  const CopyPlaces places(overlay.layer() + "/restore");
  try {
    fetch_as_copy(repository, backup, places.dir);
    install_copy(places.dir, overlay.upper());
  } catch (Error& e) {
    os::remove_tree(places.dir);
    e.while_doing("restoring a backup; the overlay is what it was before");
    throw;
  }
  remove_copy(places.dir);
}

void check_repository(const Repository& repository, int percent) {
  std::vector<std::string> arguments = {"check", "--quiet"};
  if (percent > 0) arguments.push_back(fmt::format("--read-data-subset={}%", std::min(percent, 100)));
  run_restic(repository, arguments);
}

std::vector<std::string> forget_backups(const Repository& repository, const std::string& capsule,
                                        const Retention& retention) {
  // The same rules for snapshots and backups, and what restic would decide is decided here.
  std::vector<Snapshot> list;
  for (auto& backup : list_backups(repository, capsule)) list.push_back({.id = std::move(backup.id), .at = backup.at});
  auto gone = superfluous(list, retention);
  if (gone.empty()) return gone;
  std::vector<std::string> arguments = {"forget", "--quiet", "--prune"};
  arguments.insert(arguments.end(), gone.begin(), gone.end());
  run_restic(repository, arguments);
  return gone;
}

Drill run_drill(const std::string& scratch, const std::function<void(const std::string& upper)>& restore,
                const std::function<std::vector<std::string>(const std::string& upper)>& check) {
  Drill drill;
  os::remove_tree(scratch);
  os::make_directories(scratch, 0700);
  const auto upper = scratch + "/upper";
  try {
    auto since = steady_clock::now();
    restore(upper);
    drill.restored = steady_clock::now() - since;
    since = steady_clock::now();
    drill.problems = check(upper);
    drill.checked = steady_clock::now() - since;
  } catch (const Error& e) {
    drill.problems.push_back(e.one_line());
  }
  os::remove_tree(scratch);
  return drill;
}

}  // namespace underway::overlay
