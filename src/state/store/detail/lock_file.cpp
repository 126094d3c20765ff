#include "store/detail/lock_file.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

namespace underway::store::detail {

namespace {

std::string holder(int fd) {
  char buffer[64];
  const ssize_t size = ::pread(fd, buffer, sizeof buffer, 0);
  const std::string_view pid = trim(std::string_view(buffer, size > 0 ? static_cast<std::size_t>(size) : 0));
  return pid.empty() ? "another process" : fmt::format("process {}", pid);
}

}  // namespace

LockFile::LockFile(const std::string& path) {
  fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd_ < 0) throw errno_error(errno, fmt::format("cannot open the lock file '{}'", path));
  if (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    const int number = errno;
    const std::string who = holder(fd_);
    ::close(fd_);
    if (number != EWOULDBLOCK) throw errno_error(number, fmt::format("cannot lock '{}'", path));
    throw Error(Code::conflict, fmt::format("the lock '{}' is held by {}", path, who))
        .advise("stop that process, or give this one a data_dir of its own");
  }
  // The pid is only for people: a full disk must not keep the store shut.
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(fd_, 0) == 0) std::ignore = ::pwrite(fd_, pid.data(), pid.size(), 0);
}

LockFile::~LockFile() { ::close(fd_); }

}  // namespace underway::store::detail
