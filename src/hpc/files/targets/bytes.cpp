#include "files/targets/bytes.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/hasher.hpp"
#include "model/file.hpp"
#include "os/file.hpp"

namespace underway::files {
namespace {

constexpr std::size_t kReadAtOnce = 256U << 10;

/// Calls `take` with all bytes in order, so many at once.
template <class Take>
void read_in_turn(const os::Fd& fd, std::string_view what, Take take) {
  std::string buffer(kReadAtOnce, '\0');
  std::size_t offset = 0;
  while (true) {
    const ssize_t n = ::pread(fd.get(), buffer.data(), buffer.size(), static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw errno_error(errno, fmt::format("cannot read {}", what));
    if (n == 0) return;
    offset += static_cast<std::size_t>(n);
    if (offset > model::kFileBytes)
      throw Error(Code::too_large, fmt::format("{} is larger than {}", what, human_bytes(model::kFileBytes)));
    take(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
  }
}

std::string quoted(const std::string& path) { return "'" + path + "'"; }

}  // namespace

std::string file_digest(const os::Fd& fd, std::string_view what) {
  crypto::Hasher hasher;
  read_in_turn(fd, what, [&](std::string_view bytes) { hasher.add(bytes); });
  return hex(hasher.finish());
}

std::string copy_bytes(const os::Fd& from, const os::Fd& to, std::string_view what) {
  crypto::Hasher hasher;
  read_in_turn(from, what, [&](std::string_view bytes) {
    hasher.add(bytes);
    os::write_all(to, bytes, what);
  });
  return hex(hasher.finish());
}

bool Incoming::is_whole(const std::string& digest) const { return os::exists(whole(digest)); }

std::int64_t Incoming::received(const std::string& digest) const {
  struct stat st{};
  if (::stat(part(digest).c_str(), &st) == 0) return st.st_size;
  if (errno == ENOENT) return 0;
  throw errno_error(errno, fmt::format("cannot examine '{}'", part(digest)));
}

void Incoming::append(const std::string& digest, std::int64_t offset, std::string_view bytes) {
  os::make_directories(directory_, 0700);
  const std::string path = part(digest);
  const os::Fd fd = os::open_file(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  if (st.st_size != offset)
    throw Error(Code::conflict, fmt::format("bytes from {} on do not follow in '{}'", offset, path))
        .because(fmt::format("it has {}", st.st_size));
  os::write_all(fd, bytes, quoted(path));
}

void Incoming::finish(const std::string& digest, std::int64_t size) {
  const std::string path = part(digest);
  const os::Fd fd = os::open_file(path, O_RDONLY | O_NOFOLLOW);
  const std::int64_t have = received(digest);
  if (have != size || file_digest(fd, quoted(path)) != digest) {
    ::unlink(path.c_str());
    throw Error(Code::denied, "bytes that the server sent are not those that its manifest names")
        .because(fmt::format("{} bytes came, and {} with the digest {} were wanted", have, size, digest));
  }
  if (::fsync(fd.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path));
  if (::rename(path.c_str(), whole(digest).c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot rename '{}'", path));
}

void Incoming::move_to(const std::string& digest, const std::string& path) const {
  if (::rename(whole(digest).c_str(), path.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot move '{}'", whole(digest)));
}

void Incoming::keep_only(const std::set<std::string>& digests) const {
  if (!os::exists(directory_)) return;
  for (const auto& entry : os::list_directory(directory_)) {
    if (!digests.contains(entry.name.substr(0, entry.name.find('.'))))
      ::unlink((directory_ + "/" + entry.name).c_str());
  }
}

}  // namespace underway::files
