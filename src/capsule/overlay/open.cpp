#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/mount.hpp"
#include "overlay/detail/loop.hpp"
#include "overlay/detail/make.hpp"
#include "overlay/detail/state.hpp"

namespace underway::overlay {
namespace {

std::string type_of(Kind kind) { return kind == Kind::raid1 ? "btrfs" : std::string(describe::spell(kind)); }

std::string resolved(const std::string& dir) {
  std::unique_ptr<char, decltype(&std::free)> path(::realpath(dir.c_str(), nullptr), &std::free);
  if (!path) throw errno_error(errno, fmt::format("cannot resolve '{}'", dir));
  return path.get();
}

void remove_files(const Record& record) {
  for (const auto& file : record.files) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT && errno != ENOTDIR)
      throw errno_error(errno, fmt::format("cannot remove the overlay's file '{}'", file));
  }
}

Record create(const Spec& spec, const std::string& dir, const std::string& owner) {
  Record record{.kind = spec.kind,
                .size_bytes = static_cast<std::int64_t>(spec.size_bytes),
                .paths = spec.paths,
                .files = choose_files(spec, dir, owner)};
  write_record(dir, record);
  return record;
}

void refuse_what_differs(const Spec& spec, const Record& record, const std::string& dir) {
  if (spec.kind != record.kind)
    throw Error(Code::conflict, fmt::format("the overlay in '{}' is of another kind", dir))
        .because(fmt::format("it is {}, and {} is asked for", describe::spell(record.kind), describe::spell(spec.kind)))
        .advise("back it up, remove it, and restore it into a new one");
  if (record.kind != Kind::directory && static_cast<std::int64_t>(spec.size_bytes) < record.size_bytes)
    throw Error(Code::conflict, fmt::format("the overlay in '{}' is larger than asked for", dir))
        .because(fmt::format("it has {}, {} is asked for, and an overlay never shrinks",
                             human_bytes(static_cast<std::uint64_t>(record.size_bytes)), human_bytes(spec.size_bytes)))
        .advise("set `size` to what it has, or back it up and restore it into a new one");
}

/// The mount at `target` if there is one: ours, or a conflict.
bool adopt(const Mounted::State& state, const std::vector<std::string>& devices) {
  for (const auto& mount : os::list_mounts()) {
    if (mount.target != state.root) continue;
    for (const auto& device : devices) {
      if (mount.source == device) return true;
    }
    throw Error(Code::conflict, fmt::format("something else is mounted at '{}'", state.root))
        .because(fmt::format("{} '{}'", mount.type, mount.source));
  }
  return false;
}

/// A loop device is busy for a moment when somebody else, who was told the same free number, tries to configure it: the
/// kernel claims a device before it looks whether it is free (drivers/block/loop.c, loop_configure).
void mount_claimed(const std::string& device, const std::string& root, const std::string& type, unsigned long flags,
                   const std::string& data) {
  constexpr int kTries = 50;
  constexpr auto kWait = std::chrono::milliseconds(2);
  for (int tries = 1;; ++tries) {
    try {
      os::Mount::make(device, root, type, flags, data).release();
      return;
    } catch (const Error& error) {
      if (error.code() != Code::conflict || tries == kTries) throw;
    }
    std::this_thread::sleep_for(kWait);
  }
}

void mount_devices(const Mounted::State& state, const std::vector<std::string>& devices, bool degraded) {
  // Owners and modes of what capsules write matter only inside of the capsule, under its own mount's flags.
  constexpr unsigned long kFlags = MS_NODEV | MS_NOSUID | MS_NOATIME;
  std::string data = state.record.kind == Kind::ext4 ? "errors=remount-ro" : "";
  if (state.record.kind == Kind::raid1) {
    for (const auto& device : devices) data += (data.empty() ? "device=" : ",device=") + device;
    if (degraded) data += ",degraded";
  }
  mount_claimed(devices.front(), state.root, type_of(state.record.kind), kFlags, data);
}

Error damaged(const Record& record, const Error& cause) {
  return Error(cause.code() == Code::denied || cause.code() == Code::exhausted ? cause.code() : Code::internal,
               fmt::format("the file system of the overlay '{}' cannot be mounted", record.files.front()))
      .because(cause.one_line())
      .advise(mending_advice(record));
}

void lose(Mounted::State& state, std::size_t file) {
  // Durable before anything is written to the other: from now on this file is old, whatever comes back with it.
  state.record.stale = static_cast<std::int64_t>(file);
  write_record(state.dir, state.record);
}

/// Devices of `state`, attached unless they are; in raid1 those of the files that are there.
struct Attached {
  std::vector<std::string> devices;
  std::vector<Loop> held;  ///< until the mount holds them
};
Attached attach(Mounted::State& state) {
  Attached attached;
  const auto& files = state.record.files;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (state.record.stale == static_cast<std::int64_t>(i)) continue;
    if (auto device = find_loop(files[i])) {
      attached.devices.push_back(std::move(*device));
      continue;
    }
    try {
      attached.held.push_back(Loop::attach(files[i]));
      attached.devices.push_back(attached.held.back().device());
    } catch (const Error& e) {
      if (e.code() == Code::exhausted) throw;
      if (state.record.kind == Kind::raid1 && !state.record.stale) {
        lose(state, i);
        continue;
      }
      throw Error(Code::not_found, fmt::format("the overlay's file '{}' is lost", files[i]))
          .because(e.one_line())
          .advise("mount the file system that holds it, or restore a backup");
    }
  }
  return attached;
}

/// Both files are there and do not mount together: one of them may alone.
void mount_either(Mounted::State& state, const Attached& attached, const Error& cause) {
  for (std::size_t i = 0; i < attached.devices.size(); ++i) {
    try {
      forget_btrfs_device(attached.devices[1 - i]);
      mount_devices(state, {attached.devices[i]}, true);
      lose(state, 1 - i);
      return;
    } catch (const Error&) {
      continue;  // the first failure says more
    }
  }
  forget_mount(state);
  throw damaged(state.record, cause);
}

void mount_file_system(Mounted::State& state) {
  const auto attached = attach(state);
  if (adopt(state, attached.devices)) return;
  const bool fresh = attached.held.size() == attached.devices.size();
  if (fresh) check_before_mount(state.record);
  if (state.options.ledger != nullptr)
    state.options.ledger->record({.kind = "mount", .object = state.root, .owner = state.options.owner});
  try {
    mount_devices(state, attached.devices, state.record.stale.has_value());
  } catch (const Error& e) {
    if (state.record.kind == Kind::raid1 && attached.devices.size() == 2) return mount_either(state, attached, e);
    forget_mount(state);
    throw damaged(state.record, e);
  }
}

void require_writable(const Mounted::State& state) {
  struct statvfs found = {};
  if (::statvfs(state.root.c_str(), &found) != 0 || (found.f_flag & ST_RDONLY) == 0) return;
  throw Error(Code::internal, fmt::format("the overlay at '{}' is read-only", state.root))
      .because("its file system has found an error in itself")
      .advise(mending_advice(state.record));
}

}  // namespace

std::string loss_warning(const Record& record) {
  const auto lost = static_cast<std::size_t>(*record.stale);
  return fmt::format(
      "DEGRADED: of the two files of this overlay '{}' is lost, and only '{}' is left; one more loss loses the "
      "overlay. "
      "Mend the disk, then repair the overlay",
      record.files[lost], record.files[1 - lost]);
}

Mounted open_overlay(const Spec& spec, const std::string& dir, const Options& options) {
  const auto wrong = problems(spec);
  if (!wrong.empty()) {
    throw Error(Code::invalid, fmt::format("cannot make an overlay in '{}'", dir)).because(wrong);
  }
  os::make_directories(dir, 0700);
  auto state = std::make_unique<Mounted::State>();
  state->dir = resolved(dir);
  state->options = options;
  auto found = find_record(state->dir);
  if (found && found->complete) refuse_what_differs(spec, *found, dir);
  if (found && !found->complete) remove_files(*found);
  state->record = found && found->complete ? std::move(*found) : create(spec, state->dir, options.owner);
  state->root = state->record.kind == Kind::directory ? state->dir : state->dir + "/mnt";
  if (!state->record.complete) {
    make_file_systems(state->record);
    state->record.complete = true;
    write_record(state->dir, state->record);
  }
  const bool in_files = spec.kind != Kind::directory;
  if (in_files) {
    os::make_directories(state->root, 0700);
    if (static_cast<std::int64_t>(spec.size_bytes) > state->record.size_bytes) grow_unmounted(*state, spec.size_bytes);
    mount_file_system(*state);
    state->ours = true;
  } else if (spec.size_bytes != 0) {
    state->warnings.emplace_back("an overlay of kind directory has no limit of its own: its size is not enforced");
  }
  if (in_files) {
    require_writable(*state);
    if (static_cast<std::int64_t>(spec.size_bytes) > state->record.size_bytes) grow(*state, spec.size_bytes);
    if (state->layer() != state->root) make_subvolume(state->root, "layer");
  }
  os::make_directories(state->layer() + "/upper", 0755);
  os::make_directories(state->layer() + "/work", 0700);
  if (state->record.stale) state->warnings.push_back(loss_warning(state->record));
  return Mounted(std::move(state));
}

std::optional<Spec> find_overlay(const std::string& dir) {
  const auto record = find_record(dir);
  if (!record) return std::nullopt;
  return Spec{
      .kind = record->kind, .size_bytes = static_cast<std::uint64_t>(record->size_bytes), .paths = record->paths};
}

void remove_overlay(const std::string& dir) {
  if (!os::exists(dir)) return;
  const auto place = resolved(dir);
  const auto record = find_record(place);
  os::unmount_all(place + "/mnt");
  if (record) remove_files(*record);
  os::remove_tree(place);
}

}  // namespace underway::overlay
