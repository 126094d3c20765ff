#include "pool/detail/place.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::pool::detail {
namespace {

constexpr mode_t kMode = 0444;

Error no_space(const Place& place, std::string why) {
  return Error(Code::exhausted, fmt::format("no room for another file in '{}'", place.directory))
      .because(std::move(why))
      .advise("let go of snapshots and collect, or give it a larger disk");
}

void lock_directory(const os::Fd& directory, const std::string& path) {
  while (::flock(directory.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw errno_error(errno, fmt::format("cannot lock '{}'", path));
}

}  // namespace

std::string name_of(const Digest& digest) {
  const std::string name = to_hex(digest);
  return name.substr(0, 2) + "/" + name;
}

Gate::Gate(const Place& place) : directory_(::openat(place.incoming.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!directory_) throw errno_error(errno, fmt::format("cannot open '{}/incoming'", place.directory));
  lock_directory(directory_, fmt::format("{}/incoming", place.directory));
}

Gate::~Gate() { ::flock(directory_.get(), LOCK_UN); }

Shard::Shard(const Place& place, std::uint8_t first) : path_(fmt::format("{}/sha256/{:02x}", place.directory, first)) {
  const auto name = fmt::format("{:02x}", first);
  directory_ = os::Fd(::openat(place.files.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!directory_) throw errno_error(errno, fmt::format("cannot open '{}'", path_));
  lock_directory(directory_, path_);
}

Shard::~Shard() { ::flock(directory_.get(), LOCK_UN); }

std::optional<struct stat> Shard::look(const std::string& hex) const {
  struct stat st{};
  if (::fstatat(directory_.get(), hex.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) return st;
  if (errno == ENOENT) return {};
  throw errno_error(errno, fmt::format("cannot look at '{}/{}'", path_, hex));
}

bool Shard::hold(const std::string& hex) const {
  if (::fchmodat(directory_.get(), hex.c_str(), kMode, 0) == 0) return true;
  if (errno == ENOENT) return false;
  throw errno_error(errno, fmt::format("cannot hold '{}/{}'", path_, hex));
}

void Shard::flush() const {
  if (::fsync(directory_.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path_));
}

void need_room(const Place& place, std::uint64_t bytes) {
  struct statvfs fs{};
  if (::fstatvfs(place.incoming.get(), &fs) != 0)
    throw errno_error(errno, fmt::format("cannot see how much room '{}' has", place.directory));
  const std::uint64_t free = std::uint64_t{fs.f_bavail} * fs.f_frsize;
  if (free >= place.limits.reserve && free - place.limits.reserve >= bytes) return;
  throw no_space(place, fmt::format("needs {}, and {} are free, of which {} are to be left", human_bytes(bytes),
                                    human_bytes(free), human_bytes(place.limits.reserve)));
}

void check_size(const Place& place, std::uint64_t bytes) {
  if (bytes <= place.limits.largest) return;
  throw Error(Code::too_large, fmt::format("a file of {} is too large", human_bytes(bytes)))
      .because(fmt::format("'{}' takes files of up to {}", place.directory, human_bytes(place.limits.largest)));
}

void write_at(const os::Fd& file, std::uint64_t offset, std::string_view bytes, const std::string& what) {
  auto at = static_cast<off_t>(offset);
  while (!bytes.empty()) {
    const ssize_t wrote = ::pwrite(file.get(), bytes.data(), bytes.size(), at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = wrote < 0 ? errno : EIO;
      // Bytes of which nobody knows would be taken for what has arrived.
      if (::ftruncate(file.get(), static_cast<off_t>(offset)) != 0)
        throw errno_error(errno, fmt::format("cannot take back what was written to {}", what));
      throw errno_error(error, fmt::format("cannot write {}", what));
    }
    at += wrote;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

void read_pieces(const os::Fd& file, const std::string& what, const std::function<void(std::string_view)>& each) {
  std::vector<char> piece(std::size_t{1} << 20);
  for (off_t at = 0;;) {
    const ssize_t got = ::pread(file.get(), piece.data(), piece.size(), at);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw errno_error(errno, fmt::format("cannot read {}", what));
    if (got == 0) return;
    each({piece.data(), static_cast<std::size_t>(got)});
    at += got;
  }
}

struct stat look_at(const os::Fd& file, const std::string& what) {
  struct stat st{};
  if (::fstat(file.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot look at {}", what));
  return st;
}

bool give_name(const Place& place, const os::Fd& file, const std::string& incoming, const Digest& digest) {
  const std::string hex = to_hex(digest);
  if (::fchmod(file.get(), kMode) != 0 || ::fsync(file.get()) != 0)
    throw errno_error(errno, fmt::format("cannot flush '{}' to disk", hex));
  const auto size = look_at(file, "a file that arrived").st_size;
  const Shard shard(place, digest.front());
  const auto there = shard.look(hex);
  // One of another length is damaged: it is replaced, where another of the same bytes would only cost its hard links.
  const bool is_new = !there || there->st_size != size || !S_ISREG(there->st_mode);
  if (is_new) {
    if (::renameat(place.incoming.get(), incoming.c_str(), shard.fd().get(), hex.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}' of '{}'", hex, place.directory));
  } else {
    shard.hold(hex);
    ::unlinkat(place.incoming.get(), incoming.c_str(), 0);
  }
  // While nobody else sees the name: who sees it relies on it.
  shard.flush();
  return is_new;
}

bool try_lock(const os::Fd& file) {
  if (::flock(file.get(), LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK) return false;
  throw errno_error(errno, "cannot lock a part of a file");
}

}  // namespace underway::pool::detail
