#include "os/fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"

namespace underway::os {

void Fd::reset() noexcept {
  if (raw_ >= 0) ::close(std::exchange(raw_, -1));
}

Fd Fd::duplicate(int lowest) const {
  const int copy = ::fcntl(raw_, F_DUPFD_CLOEXEC, lowest);
  if (copy < 0) throw errno_error(errno, "cannot duplicate a file descriptor");
  return Fd(copy);
}

Fd open_file(const std::string& path, int flags, mode_t mode) {
  const int raw = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  if (raw < 0) throw errno_error(errno, fmt::format("cannot open '{}'", path));
  return Fd(raw);
}

Fd open_directory(const std::string& path) { return open_file(path, O_RDONLY | O_DIRECTORY); }

Pipe open_pipe(int flags) {
  int ends[2];
  if (::pipe2(ends, flags | O_CLOEXEC) != 0) throw errno_error(errno, "cannot open a pipe");
  return {Fd(ends[0]), Fd(ends[1])};
}

Fd sealed_memory(const std::string& name, std::string_view bytes) {
  Fd fd(::memfd_create(name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) throw errno_error(errno, fmt::format("cannot make the memory file '{}'", name));
  write_all(fd, bytes, name);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0 ||
      ::lseek(fd.get(), 0, SEEK_SET) != 0) {
    throw errno_error(errno, fmt::format("cannot seal the memory file '{}'", name));
  }
  return fd;
}

void write_all(const Fd& fd, std::string_view bytes, std::string_view what) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw errno_error(errno, fmt::format("cannot write {}", what));
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string read_all(const Fd& fd, std::size_t limit, std::string_view what) {
  std::string bytes;
  std::array<char, 16384> buffer;
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw errno_error(errno, fmt::format("cannot read {}", what));
    if (n == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(n));
    if (bytes.size() > limit) {
      throw Error(Code::too_large, fmt::format("cannot read {}", what))
          .because(fmt::format("more than {} bytes", limit));
    }
  }
}

void set_nonblocking(const Fd& fd, bool on) {
  const int flags = ::fcntl(fd.get(), F_GETFL);
  if (flags < 0 || ::fcntl(fd.get(), F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) != 0) {
    throw errno_error(errno, "cannot change the mode of a file descriptor");
  }
}

bool wait_for(int fd, short events, int milliseconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(std::max(milliseconds, 0));
  for (;;) {
    pollfd p{fd, events, 0};
    const int n = ::poll(&p, 1, milliseconds);
    if (n >= 0) return n > 0;
    if (errno != EINTR) throw errno_error(errno, "cannot wait for a file descriptor");
    if (milliseconds >= 0) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
      milliseconds = static_cast<int>(std::max<std::int64_t>(left.count(), 0));
    }
  }
}

}  // namespace underway::os
