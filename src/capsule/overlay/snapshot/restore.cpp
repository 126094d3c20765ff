#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "base/error.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"
#include "overlay/detail/record.hpp"
#include "overlay/snapshot/detail/snapshot.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {
namespace {

using OnStep = std::function<void(const std::string&)>;

void exchange(const std::string& a, const std::string& b) {
  if (::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) != 0)
    throw errno_error(errno, fmt::format("cannot exchange '{}' and '{}'", a, b));
}

void refuse_in_use(const Mounted& overlay) {
  for (const auto& mount : os::list_mounts()) {
    if (mount.type != "overlay" ||
        (mount.super_options + ",").find("upperdir=" + overlay.upper() + ",") == std::string::npos)
      continue;
    throw Error(Code::conflict, fmt::format("the overlay in '{}' is in use", overlay.dir()))
        .because(fmt::format("it is mounted at '{}'", mount.target))
        .advise("stop the capsule first");
  }
}

void restore_subvolume(const Mounted& overlay, const Snapshot& snapshot, const OnStep& step) {
  const auto name = std::filesystem::path(overlay.layer()).filename().string();
  step("stage");
  remove_subvolume(overlay.root(), name + ".new");
  clone_subvolume(subvolume_of(overlay, snapshot.id), overlay.root(), name + ".new", false);
  step("exchange");
  exchange(overlay.root() + "/" + name + ".new", overlay.layer());
  step("sweep");
  remove_subvolume(overlay.root(), name + ".new");
}

void restore_tree(const Mounted& overlay, const std::string& snapshots, const Snapshot& snapshot, const OnStep& step) {
  const auto staged = overlay.layer() + "/restore";
  step("stage");
  remove_copy(staged);
  const SnapshotView view(overlay, snapshots, snapshot);
  copy_here(view.upper(), staged, {.consistent = true, .label = snapshot.id});
  step("exchange");
  install_copy(staged, overlay.upper());
  step("sweep");
  remove_copy(staged);
}

/// The clone takes the place of the overlay's file; the file comes back when it cannot be opened.
Mounted restore_clone(Mounted overlay, const Snapshot& snapshot, const OnStep& step) {
  const auto dir = overlay.dir();
  const auto file = overlay.files().front();
  const auto staged = file + ".new";
  const auto before = *find_record(dir);
  auto after = before;
  after.size_bytes = std::min(before.size_bytes, static_cast<std::int64_t>(std::filesystem::file_size(snapshot.file)));
  const Spec spec{
      .kind = before.kind, .size_bytes = static_cast<std::uint64_t>(before.size_bytes), .paths = before.paths};
  const auto options = overlay.options();
  step("stage");
  clone_file(snapshot.file, staged);
  const auto made = os::open_file(staged, O_RDONLY);
  if (::fsync(made.get()) != 0) throw errno_error(errno, fmt::format("cannot write out '{}'", staged));
  overlay.close();
  step("exchange");
  write_record(dir, after);  // the smaller size holds for both
  exchange(staged, file);
  try {
    step("open");
    auto opened = open_overlay(spec, dir, options);
    step("sweep");
    if (::unlink(staged.c_str()) != 0) throw errno_error(errno, fmt::format("cannot remove '{}'", staged));
    return opened;
  } catch (Error& e) {
    os::unmount_all(dir + "/mnt");
    exchange(staged, file);
    write_record(dir, before);
    static_cast<void>(::unlink(staged.c_str()));
    e.while_doing(fmt::format("restoring the snapshot '{}'; the overlay is what it was before", snapshot.id));
    throw;
  }
}

}  // namespace

Mounted restore_snapshot(Mounted overlay, const std::string& snapshots, const std::string& id,
                         const std::function<void(const std::string&)>& on_step) {
  const auto snapshot = get_snapshot(snapshots, id);
  const OnStep step = on_step ? on_step : [](const std::string&) {};
  refuse_in_use(overlay);
  switch (snapshot.method) {
    case SnapshotMethod::clone:
      return restore_clone(std::move(overlay), snapshot, step);
    case SnapshotMethod::subvolume:
      restore_subvolume(overlay, snapshot, step);
      break;
    case SnapshotMethod::copy:
      restore_tree(overlay, snapshots, snapshot, step);
      break;
  }
  return overlay;
}

void extract_snapshot(const Mounted& overlay, const std::string& snapshots, const std::string& id,
                      const std::string& dir) {
  const auto snapshot = get_snapshot(snapshots, id);
  const SnapshotView view(overlay, snapshots, snapshot);
  copy_here(view.upper(), dir, {.consistent = true, .label = snapshot.id});
}

}  // namespace underway::overlay
