#include "os/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace underway::os {
namespace {

std::string parent_of(const std::string& path) {
  const auto slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

void flush(const Fd& fd, const std::string& path) {
  if (::fsync(fd.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path));
}

struct CloseDirectory {
  void operator()(DIR* d) const { ::closedir(d); }
};
using Directory = std::unique_ptr<DIR, CloseDirectory>;

Directory open_stream(Fd fd, const std::string& path) {
  Directory stream(::fdopendir(fd.get()));
  if (!stream) throw errno_error(errno, fmt::format("cannot read the directory '{}'", path));
  static_cast<void>(fd.release());
  return stream;
}

std::vector<DirectoryEntry> entries_of(Fd fd, const std::string& path) {
  const int raw = fd.get();
  const Directory stream = open_stream(std::move(fd), path);
  std::vector<DirectoryEntry> entries;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    unsigned char type = entry->d_type;
    struct stat st{};
    if (type == DT_UNKNOWN && ::fstatat(raw, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0) {
      type = static_cast<unsigned char>(IFTODT(st.st_mode));
    }
    entries.push_back({name, type});
    errno = 0;
  }
  if (errno != 0) throw errno_error(errno, fmt::format("cannot read the directory '{}'", path));
  return entries;
}

/// Empties the directory behind `fd`. Each level is opened relative to the one above and never through a link.
void empty_directory(const Fd& fd, dev_t device, const std::string& path, int depth) {
  if (depth > 512) throw Error(Code::too_large, fmt::format("cannot remove '{}'", path)).because("nested too deeply");
  for (const auto& entry : entries_of(fd.duplicate(), path)) {
    const std::string below = path + "/" + entry.name;
    if (entry.type != DT_DIR) {
      if (::unlinkat(fd.get(), entry.name.c_str(), 0) == 0 || errno == ENOENT) continue;
      if (errno != EISDIR) throw errno_error(errno, fmt::format("cannot remove '{}'", below));
    }
    Fd child(::openat(fd.get(), entry.name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!child) {
      if (errno == ENOENT) continue;
      throw errno_error(errno, fmt::format("cannot open '{}'", below));
    }
    struct stat st{};
    if (::fstat(child.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", below));
    if (st.st_dev != device) {
      throw Error(Code::conflict, fmt::format("cannot remove '{}'", below))
          .because("another file system is mounted there");
    }
    empty_directory(child, device, below, depth + 1);
    child.reset();
    if (::unlinkat(fd.get(), entry.name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
      throw errno_error(errno, fmt::format("cannot remove '{}'", below));
    }
  }
}

}  // namespace

std::int64_t size_of(const Fd& file, const std::string& path) {
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  return status.st_size;
}

std::string read_file(const std::string& path, std::size_t limit) {
  return read_all(open_file(path, O_RDONLY), limit, fmt::format("'{}'", path));
}

std::optional<std::string> find_file(const std::string& path, std::size_t limit) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  // ESRCH, here or when it is read: a file of /proc, whose process has ended meanwhile.
  if (!fd && (errno == ENOENT || errno == ENOTDIR || errno == ESRCH)) return std::nullopt;
  if (!fd) throw errno_error(errno, fmt::format("cannot open '{}'", path));
  try {
    return read_all(fd, limit, fmt::format("'{}'", path));
  } catch (const Error& e) {
    if (e.code() != Code::not_found) throw;
    return std::nullopt;
  }
}

void write_file(const std::string& path, std::string_view bytes, mode_t mode, std::optional<Owner> owner,
                Durability durability) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, hex(random_bytes(6)));
  Fd fd = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  try {
    write_all(fd, bytes, fmt::format("'{}'", path));
    if (owner && ::fchown(fd.get(), owner->uid, owner->gid) != 0) {
      throw errno_error(errno, fmt::format("cannot change the owner of '{}'", path));
    }
    if (::fchmod(fd.get(), mode) != 0) throw errno_error(errno, fmt::format("cannot change the mode of '{}'", path));
    if (durability == Durability::flushed) flush(fd, path);
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      throw errno_error(errno, fmt::format("cannot replace '{}'", path));
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (durability == Durability::flushed) flush(open_directory(parent_of(path)), parent_of(path));
}

void make_directories(const std::string& path, mode_t mode, std::optional<Owner> owner) {
  struct stat st{};
  if (path.empty() || (::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode))) return;
  if (parent_of(path) != path) make_directories(parent_of(path), mode, owner);
  if (::mkdir(path.c_str(), mode) != 0) {
    const int error = errno;
    // Somebody else may have been faster; a file in the way is an error.
    if (error == EEXIST && ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) return;
    throw errno_error(error, fmt::format("cannot make the directory '{}'", path));
  }
  if (owner && ::chown(path.c_str(), owner->uid, owner->gid) != 0) {
    throw errno_error(errno, fmt::format("cannot change the owner of '{}'", path));
  }
  if (::chmod(path.c_str(), mode) != 0) throw errno_error(errno, fmt::format("cannot change the mode of '{}'", path));
}

std::vector<DirectoryEntry> list_directory(const std::string& path) {
  auto entries = entries_of(open_directory(path), path);
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return entries;
}

void remove_tree(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return;
    throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  }
  if (!S_ISDIR(st.st_mode)) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT)
      throw errno_error(errno, fmt::format("cannot remove '{}'", path));
    return;
  }
  const Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return;
    throw errno_error(errno, fmt::format("cannot open '{}'", path));
  }
  if (::fstat(fd.get(), &st) != 0) throw errno_error(errno, fmt::format("cannot examine '{}'", path));
  empty_directory(fd, st.st_dev, path, 0);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT) throw errno_error(errno, fmt::format("cannot remove '{}'", path));
}

TimePoint file_clock_now() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return TimePoint{std::chrono::seconds{now.tv_sec} + std::chrono::nanoseconds{now.tv_nsec}};
}

bool exists(const std::string& path) {
  struct stat st{};
  return ::lstat(path.c_str(), &st) == 0;
}

std::optional<FileLock> FileLock::try_acquire(const std::string& path, std::string_view holder) {
  Fd fd = open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0644);
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return std::nullopt;
    throw errno_error(errno, fmt::format("cannot lock '{}'", path));
  }
  // The file is never unlinked: with it, two processes could hold two locks of the same name.
  const std::string text = fmt::format("pid {} ({})\n", ::getpid(), holder);
  if (::ftruncate(fd.get(), 0) != 0) throw errno_error(errno, fmt::format("cannot write '{}'", path));
  write_all(fd, text, fmt::format("'{}'", path));
  return FileLock(std::move(fd), path);
}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  release();
  fd_ = std::move(other.fd_);
  path_ = std::move(other.path_);
  return *this;
}

void FileLock::release() noexcept {
  // Closing would not do: the lock is of the open file, which a child shares between fork and exec.
  if (fd_) ::flock(fd_.get(), LOCK_UN);
  fd_.reset();
}

FileLock FileLock::acquire(const std::string& path, std::string_view holder) {
  if (auto lock = try_acquire(path, holder)) return *std::move(lock);
  const std::string who = holder_of(path);
  throw Error(Code::conflict, fmt::format("cannot lock '{}'", path))
      .because(who.empty() ? std::string("another process held it just now") : "held by " + who)
      .advise("wait for it to end, or end it");
}

std::string FileLock::holder_of(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd || ::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return {};
  return std::string(trim(read_all(fd, 4096, fmt::format("'{}'", path))));
}

}  // namespace underway::os
