#include "vm/state/saved.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "base/error.hpp"
#include "base/json/json.hpp"
#include "os/file.hpp"
#include "vm/state/disk_image.hpp"
#include "vm/state/lease.hpp"

namespace underway::vm {
namespace {

constexpr std::string_view kCold =
    "boot it cold: resume = \"cold\" in the task's config, for one start; what it saved is removed then";

std::string description_path(const std::string& directory) { return directory + "/saved.json"; }
std::string restoring_path(const std::string& directory) { return directory + "/restoring.json"; }

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) throw errno_error(errno, fmt::format("cannot remove '{}'", path));
}

void write_description(const std::string& path, const Saved& saved) {
  os::write_file(path, underway::json::pretty(underway::json::to_value(saved)) + "\n", 0600);
}

Saved read_description(const std::string& path, const std::string& text) {
  try {
    auto saved = underway::json::decode_text<Saved>(text);
    // It names a file beside itself, wherever somebody wrote that it lies.
    if (saved.memory.empty() || saved.memory.find('/') != std::string::npos)
      throw Error(Code::invalid, fmt::format("its memory is '{}'", saved.memory));
    return saved;
  } catch (Error& e) {
    throw Error(Code::invalid, fmt::format("'{}' describes no machine that sleeps", path))
        .because(e.one_line())
        .advise(std::string(kCold));
  }
}

/// Where it lies now: on another node it may be elsewhere than it was.
std::string file_of(const MachineSpec& spec, const SavedDisk& then) {
  const auto disk =
      std::find_if(spec.disks.begin(), spec.disks.end(), [&](const auto& known) { return known.name == then.name; });
  return disk == spec.disks.end() ? then.file : disk->file;
}

void require_disks_untouched(const Saved& saved, const MachineSpec& spec) {
  for (const auto& then : saved.disks) {
    const auto file = file_of(spec, then);
    struct stat now{};
    if (::stat(file.c_str(), &now) != 0)
      throw errno_error(errno, fmt::format("cannot look at disk '{}'", file)).advise(std::string(kCold));
    const auto changed = std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec;
    if (now.st_size == then.bytes && changed == then.changed) continue;
    throw Error(Code::conflict, fmt::format("machine '{}' cannot go on with what it saved", saved.machine.name))
        .because(fmt::format("its disk '{}' was written to at {}, after {}: its memory would destroy it", file,
                             format_time(from_unix_nanos(changed)), format_time(from_unix_nanos(then.changed))))
        .advise(std::string(kCold));
  }
}

os::Fd open_memory(const std::string& path, const Saved& saved) {
  auto file = os::open_file(path, O_RDONLY | O_NOFOLLOW);
  const auto size = os::size_of(file, path);
  std::string why;
  if (size != saved.stored_bytes)
    why = fmt::format("'{}' has {} bytes and not {}", path, size, saved.stored_bytes);
  else if (const auto digest = file_digest(file, path); digest != saved.sha256)
    why = fmt::format("the sha256 of '{}' is {} and not {}", path, digest, saved.sha256);
  if (why.empty()) return file;
  throw Error(Code::invalid, fmt::format("machine '{}' cannot go on with what it saved", saved.machine.name))
      .because(why)
      .advise(std::string(kCold));
}

}  // namespace

std::optional<Saved> find_saved(const std::string& directory) {
  const auto path = description_path(directory);
  const auto text = os::find_file(path);
  if (!text) return std::nullopt;
  return read_description(path, *text);
}

void write_saved(const std::string& directory, const Saved& saved) {
  write_description(description_path(directory), saved);
}

void remove_saved(const std::string& directory) {
  remove_file(description_path(directory));
  clear_half_made(directory);
}

os::Fd open_verified(const std::string& directory, const Saved& saved, const MachineSpec& spec) {
  if (const auto other = differences(spec, saved.machine); !other.empty())
    throw Error(Code::conflict, fmt::format("machine '{}' cannot go on with what it saved", spec.name))
        .because(other)
        .advise("give it the hardware that it had, or " + std::string(kCold));
  require_disks_untouched(saved, spec);
  return open_memory(directory + "/" + saved.memory, saved);
}

std::vector<SavedDisk> look_at_disks(const MachineSpec& spec) {
  std::vector<SavedDisk> disks;
  for (const auto& disk : spec.disks) {
    if (disk.read_only) continue;
    struct stat now{};
    if (::stat(disk.file.c_str(), &now) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", disk.file));
    disks.push_back(
        {disk.name, disk.file, now.st_size, std::int64_t{now.st_mtim.tv_sec} * 1'000'000'000 + now.st_mtim.tv_nsec});
  }
  return disks;
}

std::string checkpoint_directory(const std::string& directory) { return directory + "/checkpoints"; }
std::string snapshot_name(const std::string& checkpoint_id) { return "checkpoint-" + checkpoint_id; }

std::vector<Saved> list_checkpoints(const std::string& directory) {
  std::vector<Saved> found;
  const auto place = checkpoint_directory(directory);
  if (!os::exists(place)) return found;
  for (const auto& entry : os::list_directory(place)) {
    if (!entry.name.ends_with(".json")) continue;
    const auto path = place + "/" + entry.name;
    try {
      if (const auto text = os::find_file(path)) found.push_back(read_description(path, *text));
    } catch (const Error&) {
      // Nobody can go back to that one; the others are still good.
    }
  }
  std::sort(found.begin(), found.end(), [](const Saved& a, const Saved& b) { return a.created < b.created; });
  return found;
}

void write_checkpoint(const std::string& directory, const Saved& checkpoint) {
  write_description(fmt::format("{}/{}.json", checkpoint_directory(directory), checkpoint.id), checkpoint);
}

void remove_checkpoint(const std::string& directory, const std::string& id) {
  for (const auto* kind : {"json", "zst"})
    remove_file(fmt::format("{}/{}.{}", checkpoint_directory(directory), id, kind));
}

namespace {

Saved get_checkpoint(const std::string& directory, const std::string& id) {
  for (auto& saved : list_checkpoints(directory))
    if (saved.id == id) return std::move(saved);
  throw Error(Code::not_found, fmt::format("there is no checkpoint '{}' in '{}'", id, directory));
}

}  // namespace

void verify_checkpoint(const std::string& directory, const std::string& id) {
  const auto saved = get_checkpoint(directory, id);
  static_cast<void>(open_memory(checkpoint_directory(directory) + "/" + saved.memory, saved));
}

void restore(const std::string& directory, const std::string& id, const MachineSpec& spec) {
  require_free(directory, spec.name);
  const auto wanted = get_checkpoint(directory, id);
  // Before anything of now is given up. Its disks have been written to since, of course.
  Saved as_now = wanted;
  as_now.disks.clear();
  static_cast<void>(open_verified(checkpoint_directory(directory), as_now, spec));
  write_description(restoring_path(directory), wanted);
  finish_restore(directory, spec);
}

void finish_restore(const std::string& directory, const MachineSpec& spec) {
  const auto path = restoring_path(directory);
  const auto text = os::find_file(path);
  if (!text) return;
  Saved saved = read_description(path, *text);
  remove_saved(directory);
  for (const auto& disk : saved.disks) revert_disk(disk.file, snapshot_name(saved.id));
  const auto source = fmt::format("{}/{}", checkpoint_directory(directory), saved.memory);
  saved.memory = fmt::format("memory-{}.zst", saved.id);
  const auto target = directory + "/" + saved.memory;
  if (::link(source.c_str(), target.c_str()) != 0 && errno != EEXIST)
    throw errno_error(errno, fmt::format("cannot link '{}' to '{}'", source, target));
  saved.disks = look_at_disks(spec);
  // Its guest has lived beyond this moment once.
  if (!saved.machine.generation.empty()) saved.machine.generation = spec.generation;
  write_saved(directory, saved);
  remove_file(path);
}

void clear_half_made(const std::string& directory) {
  std::string keep;
  if (const auto text = os::find_file(description_path(directory))) {
    try {
      keep = read_description(description_path(directory), *text).memory;
    } catch (const Error&) {
      return;  // what it names cannot be told, and is perhaps all that there is of the machine
    }
  }
  for (const auto& entry : os::list_directory(directory)) {
    if (entry.name.starts_with("memory-") && entry.name != keep) remove_file(directory + "/" + entry.name);
  }
  const auto place = checkpoint_directory(directory);
  if (!os::exists(place)) return;
  std::set<std::string> described;
  const auto entries = os::list_directory(place);
  for (const auto& entry : entries) {
    if (entry.name.ends_with(".json")) described.insert(entry.name.substr(0, entry.name.size() - 5));
  }
  for (const auto& entry : entries) {
    const auto id = entry.name.substr(0, entry.name.find('.'));
    if (!described.contains(id)) remove_file(place + "/" + entry.name);
  }
}

}  // namespace underway::vm
