#include "node/allocation/disk.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::node {
namespace {

std::string arriving(const std::string& root) { return root + "/.arriving"; }
std::string arrived(const std::string& root) { return root + "/.arrived"; }

std::string parent_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

void rename_to(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot move '{}' to '{}'", from, to));
}

/// Not through a link that a task may have put in a directory's place.
bool is_directory(const std::string& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

class Measure {
 public:
  explicit Measure(dev_t device) : device_(device) {}
  /// What is in the directory, of which `raw` is a descriptor that this closes.
  std::uint64_t below(int raw, int depth) {
    DIR* const directory = raw < 0 ? nullptr : ::fdopendir(raw);
    if (directory == nullptr) {
      if (raw >= 0) ::close(raw);
      return 0;  // it went away meanwhile
    }
    std::uint64_t bytes = 0;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == ".." || ++seen_ > kMostFiles) continue;
      bytes += of(::dirfd(directory), entry->d_name, depth);
    }
    ::closedir(directory);
    return bytes;
  }
  std::uint64_t of(int parent, const char* name, int depth) {
    struct stat status{};
    if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) != 0 || status.st_dev != device_) return 0;
    if (!S_ISDIR(status.st_mode) && status.st_nlink > 1 && !linked_.insert(status.st_ino).second) return 0;
    std::uint64_t bytes = static_cast<std::uint64_t>(status.st_blocks) * 512;
    if (S_ISDIR(status.st_mode) && depth < kDeepest)
      bytes += below(::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), depth + 1);
    return bytes;
  }

 private:
  static constexpr std::size_t kMostFiles = 1'000'000;
  static constexpr int kDeepest = 64;
  dev_t device_;
  std::size_t seen_ = 0;
  std::set<ino_t> linked_;
};

}  // namespace

DiskUse measure_disk(const std::string& root) {
  DiskUse use;
  struct stat status{};
  struct statvfs space{};
  if (::lstat(root.c_str(), &status) != 0 || ::statvfs(root.c_str(), &space) != 0) return use;
  if (space.f_blocks > 0) use.free_percent = static_cast<std::int64_t>(space.f_bavail * 100 / space.f_blocks);
  Measure measure(status.st_dev);
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(root, gone)) {
    const std::string name = entry.path().filename();
    use.bytes += use.parts[name] = measure.of(AT_FDCWD, entry.path().c_str(), 0);
  }
  return use;
}

std::vector<std::string> disk_parts(const model::TaskGroup& group) {
  std::vector<std::string> parts{"alloc/data"};
  for (const auto& task : group.tasks) parts.push_back(task.name + "/local");
  return parts;
}

std::string open_arrival(const std::string& root) {
  const std::string path = arriving(root);
  os::remove_tree(path);
  os::make_directories(path, 0700);
  return path;
}

void close_arrival(const std::string& root) { rename_to(arriving(root), arrived(root)); }

bool has_arrived(const std::string& root) { return is_directory(arrived(root)); }

void take_over(const std::string& from_root, const std::string& root, const std::vector<std::string>& parts) {
  os::make_directories(arriving(root), 0700);
  for (const auto& part : parts) {
    const std::string from = from_root + "/" + part, to = arriving(root) + "/" + part;
    if (!is_directory(from)) continue;  // moved before the agent died, or never made
    os::make_directories(parent_of(to), 0755);
    rename_to(from, to);
  }
  close_arrival(root);
}

void settle_arrival(const std::string& root, const std::vector<std::string>& parts) {
  for (const auto& part : parts) {
    const std::string from = arrived(root) + "/" + part, to = root + "/" + part;
    if (!is_directory(from)) continue;
    os::remove_tree(to);
    os::make_directories(parent_of(to), 0755);
    rename_to(from, to);
  }
  os::remove_tree(arrived(root));
}

std::string open_machines(const std::string& root) {
  const std::string path = root + "/.machines-arriving";
  os::remove_tree(path);
  os::make_directories(path, 0700);
  return path;
}

void close_machines(const std::string& root) {
  os::remove_tree(root + "/.machines");
  rename_to(root + "/.machines-arriving", root + "/.machines");
}

std::string arrived_machine(const std::string& root, const std::string& task) { return root + "/.machines/" + task; }

std::vector<std::string> pack_command(const std::string& program, const std::string& root,
                                      const std::vector<std::string>& parts) {
  std::vector<std::string> command{program, "pack", root};
  command.insert(command.end(), parts.begin(), parts.end());
  return command;
}

std::vector<std::string> unpack_command(const std::string& program, const std::string& directory) {
  return {program, "unpack", directory};
}

}  // namespace underway::node
