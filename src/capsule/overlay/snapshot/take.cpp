#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <utility>

#include "base/error.hpp"
#include "os/file.hpp"
#include "overlay/detail/record.hpp"
#include "overlay/snapshot/detail/snapshot.hpp"
#include "overlay/snapshot/method.hpp"
#include "overlay/transfer/transfer.hpp"

namespace underway::overlay {
namespace {

/// The second and later rounds send what changed meanwhile; when that is little, or no less than before, writers may
/// wait for the rest.
constexpr int kMostRounds = 4;
constexpr std::uint64_t kLittle = std::uint64_t{2} << 20;

std::string name_for(const std::string& snapshots, TimePoint now) {
  auto name = format_time(now);  // 2026-11-21T23:41:03Z
  std::erase_if(name, [](char c) { return c == '-' || c == ':' || c == 'Z'; });
  name.replace(name.find('T'), 1, "-");
  auto id = name;
  for (int i = 2; os::exists(snapshots + "/" + id); ++i) id = fmt::format("{}-{}", name, i);
  return id;
}

SnapshotMethod method_for(Kind kind, const std::vector<std::string>& files) {
  if (kind == Kind::btrfs || kind == Kind::raid1) return SnapshotMethod::subvolume;
  if (kind != Kind::directory && !files.empty() && can_clone(files.front())) return SnapshotMethod::clone;
  return SnapshotMethod::copy;
}

/// Writers wait while it lives, and go on however it ends.
class Stillness {
 public:
  Stillness(Mounted& overlay, const SnapshotRequest& request) : quiesce_(request.quiesce) {
    if (quiesce_) quiesce_(true);
    try {
      if (!request.idle || overlay.kind() != Kind::directory) frozen_.emplace(overlay.freeze(request.limit));
    } catch (...) {
      let_go();
      throw;
    }
  }
  Stillness(const Stillness&) = delete;
  ~Stillness() {
    frozen_.reset();
    try {
      let_go();
    } catch (const std::exception&) {
      // Only the hook can throw, and the failure that brought us here says more.
    }
  }
  Duration end() {
    const auto took = frozen_ ? frozen_->thaw() : Duration{0};
    frozen_.reset();
    let_go();
    return took;
  }

 private:
  void let_go() {
    if (quiesce_) std::exchange(quiesce_, nullptr)(false);
  }
  std::function<void(bool)> quiesce_;
  std::optional<Frozen> frozen_;
};

void step(const SnapshotRequest& request, const char* name) {
  if (request.on_step) request.on_step(name);
}

void copy_in_rounds(Mounted& overlay, const std::string& dir, const SnapshotRequest& request, Snapshot& snapshot) {
  std::uint64_t before = ~std::uint64_t{0};
  for (int i = 0; i < kMostRounds; ++i) {
    step(request, "round");
    const auto round = copy_here(overlay.upper(), dir);
    if (round.left_bytes <= kLittle || round.content_bytes >= before) break;
    before = round.content_bytes;
  }
  step(request, "freeze");
  Stillness still(overlay, request);
  step(request, "frozen");
  snapshot.at = unix_nanos(os::file_clock_now());
  copy_here(overlay.upper(), dir,
            {.consistent = true, .label = snapshot.id, .release = [&] { snapshot.frozen = still.end(); }});
}

void clone(Mounted& overlay, const SnapshotRequest& request, Snapshot& snapshot) {
  // What the file's own file system has not written yet would be written under the freeze.
  const auto file = os::open_file(overlay.files().front(), O_RDONLY);
  if (::fdatasync(file.get()) != 0)
    throw errno_error(errno, fmt::format("cannot write out '{}'", overlay.files().front()));
  step(request, "freeze");
  Stillness still(overlay, request);
  step(request, "frozen");
  snapshot.at = unix_nanos(os::file_clock_now());
  clone_file(overlay.files().front(), snapshot.file);
  snapshot.frozen = still.end();
  const auto made = os::open_file(snapshot.file, O_RDONLY);
  if (::fsync(made.get()) != 0) throw errno_error(errno, fmt::format("cannot write out '{}'", snapshot.file));
}

void take_subvolume(Mounted& overlay, const SnapshotRequest& request, Snapshot& snapshot) {
  os::make_directories(overlay.root() + "/snapshots", 0700);
  step(request, "freeze");
  // A snapshot of a subvolume is made in one transaction, and a frozen btrfs could not make it: no freeze but the hook.
  if (request.quiesce) request.quiesce(true);
  const auto since = std::chrono::steady_clock::now();
  try {
    step(request, "frozen");
    snapshot.at = unix_nanos(os::file_clock_now());
    clone_subvolume(overlay.layer(), overlay.root() + "/snapshots", snapshot.id, true);
  } catch (...) {
    if (request.quiesce) request.quiesce(false);
    throw;
  }
  snapshot.frozen = std::chrono::steady_clock::now() - since;
  if (request.quiesce) request.quiesce(false);
}

}  // namespace

std::optional<SnapshotMethod> find_method(const std::string& dir) {
  const auto record = find_record(dir);
  return record ? std::optional(method_for(record->kind, record->files)) : std::nullopt;
}

Snapshot adopt_copy(const std::string& snapshots, const std::string& copy, Snapshot what) {
  os::make_directories(snapshots, 0700);
  what.id = name_for(snapshots, from_unix_nanos(what.at));
  const auto dir = snapshot_dir(snapshots, what.id);
  os::make_directories(dir, 0700);
  write_snapshot(snapshots, what);
  if (::rename(copy.c_str(), (dir + "/copy").c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot make '{}' a snapshot", copy));
  what.complete = true;
  write_snapshot(snapshots, what);
  return what;
}

Snapshot take_snapshot(Mounted& overlay, const std::string& snapshots, const SnapshotRequest& request) {
  os::make_directories(snapshots, 0700);
  sweep_snapshots(overlay, snapshots);
  Snapshot snapshot{.id = name_for(snapshots, request.now), .reason = request.reason, .image = request.image};
  snapshot.method = method_for(overlay.kind(), overlay.files());
  if (overlay.kind() != Kind::directory) snapshot.size_bytes = static_cast<std::int64_t>(overlay.space().size_bytes);
  if (snapshot.method == SnapshotMethod::clone) snapshot.file = overlay.files().front() + "." + snapshot.id;
  os::make_directories(snapshot_dir(snapshots, snapshot.id), 0700);
  write_snapshot(snapshots, snapshot);
  try {
    switch (snapshot.method) {
      case SnapshotMethod::subvolume:
        take_subvolume(overlay, request, snapshot);
        break;
      case SnapshotMethod::clone:
        clone(overlay, request, snapshot);
        break;
      case SnapshotMethod::copy:
        copy_in_rounds(overlay, snapshot_dir(snapshots, snapshot.id) + "/copy", request, snapshot);
        break;
    }
    step(request, "complete");
    snapshot.complete = true;
    write_snapshot(snapshots, snapshot);
  } catch (Error& e) {
    e.while_doing(fmt::format("taking a snapshot of the overlay in '{}'", overlay.dir()));
    try {
      remove_snapshot(overlay, snapshots, snapshot.id);
    } catch (const Error&) {
      // It does not count, and the next one sweeps it.
    }
    throw;
  }
  return snapshot;
}

}  // namespace underway::overlay
