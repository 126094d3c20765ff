#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "overlay/detail/tree.hpp"

namespace underway::overlay {
namespace {

/// readdir(3) would take a descriptor and a buffer for each directory, which is most of the work in a tree of small
/// ones.
std::vector<std::string> names_in(const os::Fd& directory, const std::string& what, std::vector<char>& buffer) {
  std::vector<std::string> names;
  for (;;) {
    const auto got = ::getdents64(directory.get(), buffer.data(), buffer.size());
    // One that was removed since it was opened has nothing in it (readdir(3) knows that, too).
    if (got == 0 || (got < 0 && errno == ENOENT)) break;
    if (got < 0) throw errno_error(errno, fmt::format("cannot list '{}'", what));
    for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
      dirent64 entry{};
      std::memcpy(&entry, buffer.data() + at, offsetof(dirent64, d_name));
      const std::string_view name = buffer.data() + at + offsetof(dirent64, d_name);
      if (name != "." && name != "..") names.emplace_back(name);
      at += entry.d_reclen;
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool gone(int error) { return error == ENOENT || error == ENOTDIR || error == ELOOP; }

}  // namespace

Tree::Tree(const std::string& root) : root_(os::open_directory(root)), name_(root) {}

std::optional<os::Fd> Tree::open(const std::string& path, int flags) const {
  struct open_how how = {};
  how.flags = static_cast<__u64>(flags) | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const long raw = ::syscall(SYS_openat2, root_.get(), path.empty() ? "." : path.c_str(), &how, sizeof(how));
  if (raw >= 0) return os::Fd(static_cast<int>(raw));
  if (gone(errno)) return std::nullopt;
  throw errno_error(errno, fmt::format("cannot open '{}/{}'", name_, path));
}

std::optional<struct stat> Tree::find(const std::string& path) const {
  const auto fd = open(path, O_PATH);
  struct stat found = {};
  if (!fd) return std::nullopt;
  if (::fstat(fd->get(), &found) != 0) throw errno_error(errno, fmt::format("cannot look at '{}/{}'", name_, path));
  return found;
}

void Tree::walk(const std::function<bool(const Item&)>& visit) const {
  struct Level {
    std::string path;
    os::Fd fd;
    std::vector<std::string> names;
    std::size_t next = 0;
  };
  // A tree may be deeper than we have descriptors.
  constexpr std::size_t kOpenLevels = 32;
  std::vector<Level> levels;
  std::vector<char> buffer(32768);
  const auto enter = [&](const std::string& path) {
    auto fd = open(path, O_RDONLY | O_DIRECTORY);
    if (!fd) return;
    auto names = names_in(*fd, name_ + "/" + path, buffer);
    if (levels.size() >= kOpenLevels) levels[levels.size() - kOpenLevels].fd.reset();
    levels.push_back({path, std::move(*fd), std::move(names)});
  };
  enter("");
  while (!levels.empty()) {
    auto& level = levels.back();
    if (level.next == level.names.size()) {
      levels.pop_back();
      continue;
    }
    if (!level.fd) {
      auto again = open(level.path, O_PATH | O_DIRECTORY);
      if (!again) {
        levels.pop_back();
        continue;
      }
      level.fd = std::move(*again);
    }
    const auto& name = level.names[level.next++];
    Item item{.path = level.path.empty() ? name : level.path + "/" + name};
    if (::fstatat(level.fd.get(), name.c_str(), &item.stat, AT_SYMLINK_NOFOLLOW) != 0) {
      if (gone(errno)) continue;
      throw errno_error(errno, fmt::format("cannot look at '{}/{}'", name_, item.path));
    }
    item.reach = fmt::format("/proc/self/fd/{}/{}", level.fd.get(), name);
    if (visit(item) && S_ISDIR(item.stat.st_mode)) enter(item.path);
  }
}

std::optional<std::string> find_attribute(const std::string& reach, const std::string& name) {
  std::string value(4096, '\0');
  for (;;) {
    const auto size = ::lgetxattr(reach.c_str(), name.c_str(), value.data(), value.size());
    if (size >= 0) {
      value.resize(static_cast<std::size_t>(size));
      return value;
    }
    if (errno == ERANGE && value.size() < 65536) {  // XATTR_SIZE_MAX of linux/limits.h
      value.resize(65536);
      continue;
    }
    if (errno == ENODATA || errno == EOPNOTSUPP || gone(errno)) return std::nullopt;
    throw errno_error(errno, fmt::format("cannot read the attribute '{}'", name));
  }
}

bool is_whiteout(const struct stat& stat) { return S_ISCHR(stat.st_mode) && stat.st_rdev == makedev(0, 0); }

}  // namespace underway::overlay
