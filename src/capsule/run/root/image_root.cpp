#include "run/root/image_root.hpp"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::run {

ImageRoot::ImageRoot(const std::string& directory)
    : directory_(directory), root_(os::open_file(directory, O_PATH | O_DIRECTORY)) {}

os::Fd ImageRoot::open(const std::string& path, int flags) const {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  return os::Fd(static_cast<int>(::syscall(SYS_openat2, root_.get(), path.c_str(), &how, sizeof how)));
}

std::optional<std::string> ImageRoot::find_file(const std::string& path) const {
  const os::Fd file = open(path, O_RDONLY | O_NONBLOCK);
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) || found.st_size > (1 << 20))
    return std::nullopt;
  return os::read_all(file, 1U << 20, path);
}

std::vector<std::string> ImageRoot::list(const std::string& path) const {
  const os::Fd directory = open(path, O_PATH | O_DIRECTORY);
  std::vector<std::string> names;
  if (!directory) return names;
  for (const auto& entry : os::list_directory(fmt::format("/proc/self/fd/{}/.", directory.get()))) {
    names.push_back(entry.name);
  }
  return names;
}

std::optional<struct stat> ImageRoot::status(const std::string& path) const {
  const os::Fd file = open(path, O_PATH);
  struct stat found{};
  if (!file || ::fstat(file.get(), &found) != 0) return std::nullopt;
  return found;
}

std::string ImageRoot::resolve(const std::string& path) const {
  std::string exists = path, rest;
  while (exists.size() > 1) {
    if (const os::Fd file = open(exists, O_PATH)) {
      char real[PATH_MAX];
      const auto link = fmt::format("/proc/self/fd/{}", file.get());
      const ssize_t size = ::readlink(link.c_str(), real, sizeof real);
      char top[PATH_MAX];
      const auto root_link = fmt::format("/proc/self/fd/{}", root_.get());
      const ssize_t top_size = ::readlink(root_link.c_str(), top, sizeof top);
      if (size < 0 || top_size < 0) throw errno_error(errno, fmt::format("cannot resolve '{}' in the image", path));
      const std::string_view found(real, static_cast<std::size_t>(size));
      return std::string(found.substr(std::min(found.size(), static_cast<std::size_t>(top_size)))) + rest;
    }
    const auto slash = exists.rfind('/');
    rest = exists.substr(slash) + rest;
    exists.resize(slash);
  }
  return rest.empty() ? "/" : rest;
}

}  // namespace underway::run
