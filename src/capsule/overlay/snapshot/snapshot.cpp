#include "overlay/snapshot/snapshot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/detail/loop.hpp"
#include "overlay/snapshot/detail/snapshot.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {
namespace {

std::optional<Snapshot> find_snapshot(const std::string& snapshots, const std::string& id) {
  const auto text = os::find_file(snapshot_dir(snapshots, id) + "/snapshot.json", 1U << 20);
  if (!text) return std::nullopt;
  return json::decode_text<Snapshot>(*text);
}

std::vector<std::string> ids_in(const std::string& snapshots) {
  std::vector<std::string> ids;
  if (!os::exists(snapshots)) return ids;
  for (auto& entry : os::list_directory(snapshots)) ids.push_back(std::move(entry.name));
  return ids;
}

std::string told(const Snapshot& snapshot) {
  return fmt::format("{} ({})", snapshot.id, format_time(from_unix_nanos(snapshot.at)));
}

}  // namespace

std::string snapshot_dir(const std::string& snapshots, const std::string& id) {
  if (id.empty() || id.find('/') != std::string::npos || id.starts_with('.'))
    throw Error(Code::invalid, fmt::format("'{}' is no name of a snapshot", id));
  return snapshots + "/" + id;
}

std::string subvolume_of(const Mounted& overlay, const std::string& id) { return overlay.root() + "/snapshots/" + id; }

void write_snapshot(const std::string& snapshots, const Snapshot& snapshot) {
  os::write_file(snapshot_dir(snapshots, snapshot.id) + "/snapshot.json", json::pretty(json::to_value(snapshot)) + "\n",
                 0600);
}

std::vector<Snapshot> list_snapshots(const std::string& snapshots) {
  std::vector<Snapshot> list;
  for (const auto& id : ids_in(snapshots)) {
    auto found = find_snapshot(snapshots, id);
    if (found && found->complete) list.push_back(std::move(*found));
  }
  std::sort(list.begin(), list.end(), [](const Snapshot& a, const Snapshot& b) { return a.at < b.at; });
  return list;
}

Snapshot get_snapshot(const std::string& snapshots, const std::string& id) {
  auto found = find_snapshot(snapshots, id);
  if (found && found->complete) return std::move(*found);
  Error error(Code::not_found, fmt::format("there is no snapshot '{}'", id));
  const auto list = list_snapshots(snapshots);
  if (list.empty()) throw std::move(error).because("there is none at all");
  throw std::move(error).because(
      fmt::format("there are {}, from {} to {}", list.size(), told(list.front()), told(list.back())));
}

Snapshot snapshot_at(const std::vector<Snapshot>& list, TimePoint at) {
  const auto later = [&](const Snapshot& snapshot) { return from_unix_nanos(snapshot.at) > at; };
  const auto end = std::find_if(list.begin(), list.end(), later);
  if (end != list.begin()) return *std::prev(end);
  Error error(Code::not_found, fmt::format("there is no snapshot of {} or before", format_time(at)));
  if (list.empty()) throw std::move(error).because("there is none at all");
  throw std::move(error).because("the oldest is " + told(list.front()));
}

SnapshotView::SnapshotView(const Mounted& overlay, const std::string& snapshots, const Snapshot& snapshot) {
  switch (snapshot.method) {
    case SnapshotMethod::subvolume:
      upper_ = subvolume_of(overlay, snapshot.id) + "/upper";
      break;
    case SnapshotMethod::copy:
      upper_ = snapshot_dir(snapshots, snapshot.id) + "/copy/tree";
      break;
    case SnapshotMethod::clone: {
      const auto target = snapshot_dir(snapshots, snapshot.id) + "/mnt";
      os::make_directories(target, 0700);
      os::unmount_all(target);  // a crash may have left it
      const auto loop = Loop::attach(snapshot.file);
      // It was frozen: its journal is empty, and it has the identity of the file system that it was taken of.
      const bool xfs = overlay.kind() == Kind::xfs;
      mounted_ = os::Mount::make(loop.device(), target, xfs ? "xfs" : "ext4", MS_RDONLY | MS_NODEV | MS_NOSUID,
                                 xfs ? "nouuid,norecovery" : "noload")
                     .release();
      upper_ = mounted_ + "/upper";
      break;
    }
  }
  if (os::exists(upper_)) return;
  if (!mounted_.empty()) ::umount2(mounted_.c_str(), MNT_DETACH);
  throw Error(Code::internal, fmt::format("the snapshot '{}' is damaged", snapshot.id))
      .because(fmt::format("there is no '{}'", upper_))
      .advise("restore another snapshot, or a backup");
}

SnapshotView::~SnapshotView() {
  if (!mounted_.empty()) ::umount2(mounted_.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW);
}

void remove_snapshot(Mounted& overlay, const std::string& snapshots, const std::string& id) {
  const auto dir = snapshot_dir(snapshots, id);
  if (!os::exists(dir)) return;
  if (auto found = find_snapshot(snapshots, id)) {
    found->complete = false;  // from here on it is none, whatever happens
    write_snapshot(snapshots, *found);
    if (!found->file.empty() && ::unlink(found->file.c_str()) != 0 && errno != ENOENT)
      throw errno_error(errno, fmt::format("cannot remove '{}'", found->file));
  }
  if (overlay.layer() != overlay.root()) remove_subvolume(overlay.root() + "/snapshots", id);
  os::unmount_all(dir + "/mnt");
  os::remove_tree(dir);
}

void sweep_snapshots(Mounted& overlay, const std::string& snapshots) {
  for (const auto& file : overlay.files()) {
    const auto staged = file + ".new";  // of a restore
    if (::unlink(staged.c_str()) != 0 && errno != ENOENT)
      throw errno_error(errno, fmt::format("cannot remove '{}'", staged));
  }
  for (const auto& id : ids_in(snapshots)) {
    const auto found = find_snapshot(snapshots, id);
    if (!found || !found->complete) remove_snapshot(overlay, snapshots, id);
  }
}

std::vector<std::string> superfluous(const std::vector<Snapshot>& list, const Retention& retention) {
  if (retention.last + retention.hourly + retention.daily + retention.weekly <= 0) return {};
  constexpr std::int64_t kHour = 3'600'000'000'000, kDay = 24 * kHour, kWeek = 7 * kDay;
  constexpr std::int64_t kMonday = 4 * kDay;  // the epoch was a Thursday
  std::set<std::string> kept;
  const auto keep = [&](std::int64_t count, auto period) {
    std::set<std::int64_t> seen;
    for (auto it = list.rbegin(); it != list.rend() && static_cast<std::int64_t>(seen.size()) < count; ++it) {
      if (seen.insert(period(*it)).second) kept.insert(it->id);
    }
  };
  keep(retention.last, [n = std::int64_t{0}](const Snapshot&) mutable { return n++; });
  keep(retention.hourly, [](const Snapshot& snapshot) { return snapshot.at / kHour; });
  keep(retention.daily, [](const Snapshot& snapshot) { return snapshot.at / kDay; });
  keep(retention.weekly, [](const Snapshot& snapshot) { return (snapshot.at - kMonday) / kWeek; });
  constexpr int kWaysBack = 2;
  for (auto [it, left] = std::pair(list.rbegin(), kWaysBack); it != list.rend() && left > 0; ++it) {
    if (it->reason.starts_with(kBeforeUpgrade) && left-- > 0) kept.insert(it->id);
  }
  std::vector<std::string> rest;
  for (const auto& snapshot : list) {
    if (!kept.contains(snapshot.id)) rest.push_back(snapshot.id);
  }
  return rest;
}

}  // namespace underway::overlay
