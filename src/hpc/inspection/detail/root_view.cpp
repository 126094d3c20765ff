#include "inspection/detail/root_view.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"

namespace underway::inspection::detail {
RootView::RootView(std::string path) : path_(std::move(path)), fd_(os::open_file(path_, O_PATH | O_DIRECTORY)) {}

std::optional<os::Fd> RootView::open(const std::string& file, unsigned flags) const {
  open_how how{};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const long raw = ::syscall(SYS_openat2, fd_.get(), file.c_str(), &how, sizeof how);
  if (raw >= 0) return os::Fd(static_cast<int>(raw));
  if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return std::nullopt;
  throw errno_error(errno, fmt::format("cannot open '{}' in '{}'", file, path_));
}

std::optional<std::string> RootView::find_text(const std::string& file, std::size_t limit) const {
  // O_NONBLOCK: a pipe that somebody put there must not hold us.
  const auto fd = open(file, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!fd) return std::nullopt;
  struct stat status{};
  if (::fstat(fd->get(), &status) != 0) throw errno_error(errno, fmt::format("cannot look at '{}'", file));
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return os::read_all(*fd, limit, fmt::format("'{}' in '{}'", file, path_));
}

std::optional<std::string> RootView::find_text(const std::string& file, std::size_t limit,
                                               std::vector<std::string>& gaps) const {
  try {
    return find_text(file, limit);
  } catch (const Error& e) {
    gaps.push_back(e.one_line());
    return std::nullopt;
  }
}

std::vector<os::DirectoryEntry> RootView::entries(const std::string& directory, std::vector<std::string>& gaps) const {
  try {
    const auto fd = open(directory, O_RDONLY | O_DIRECTORY);
    if (!fd) return {};
    return os::list_directory(fmt::format("/proc/self/fd/{}", fd->get()));
  } catch (const Error& e) {
    gaps.push_back(e.one_line());
    return {};
  }
}

std::string RootView::real_path(const std::string& file) const {
  const auto link_of = [](const os::Fd& fd) {
    std::array<char, 4096> text{};
    const auto length = ::readlink(fmt::format("/proc/self/fd/{}", fd.get()).c_str(), text.data(), text.size());
    return length < 0 ? std::string{} : std::string(text.data(), static_cast<std::size_t>(length));
  };
  try {
    const auto fd = open(file, O_PATH);
    if (!fd) return file;
    const std::string root = link_of(fd_), path = link_of(*fd);
    if (root == "/") return path.empty() ? file : path;
    return path.starts_with(root + "/") ? path.substr(root.size()) : file;
  } catch (const Error&) {
    return file;  // nobody can look: the name is all that is known
  }
}

bool RootView::exists(const std::string& file) const {
  try {
    return open(file, O_PATH).has_value();
  } catch (const Error&) {
    return false;  // nobody can look: as good as absent
  }
}

bool RootView::is_directory(const std::string& file) const {
  try {
    return open(file, O_PATH | O_DIRECTORY).has_value();
  } catch (const Error&) {
    return false;
  }
}

}  // namespace underway::inspection::detail
