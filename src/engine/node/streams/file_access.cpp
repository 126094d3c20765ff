#include "node/streams/file_access.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/text.hpp"

namespace underway::node {

namespace {

std::string_view relative(std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return path.empty() ? "." : path;
}

/// What people are told: where it lies on the node is no business of theirs.
constexpr const char* kPlace = "the allocation's directory";

os::Fd open_at(int directory, std::string_view path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC);
  how.mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  const std::string name(relative(path));
  // EAGAIN: a concurrent rename made the walk unsafe (openat2(2)); a few tries settle it.
  for (int attempt = 0; attempt < 16; ++attempt) {
    const long raw = ::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how);
    if (raw >= 0) return os::Fd(static_cast<int>(raw));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  if (errno == EXDEV)
    throw Error(Code::denied, fmt::format("'{}' leads out of {}", path, kPlace))
        .because("only files inside may be reached, through links as well");
  throw errno_error(errno, fmt::format("cannot open '{}' in {}", path, kPlace));
}

std::string mode_text(mode_t mode) {
  const char kinds[] = {S_ISDIR(mode) ? 'd' : S_ISLNK(mode) ? 'L' : S_ISFIFO(mode) ? 'p' : S_ISSOCK(mode) ? 'S' : '-'};
  std::string text(kinds, 1);
  constexpr std::string_view kBits = "rwxrwxrwx";
  for (std::size_t i = 0; i < kBits.size(); ++i) text += (mode & (1U << (8 - i))) != 0 ? kBits[i] : '-';
  return text;
}

std::string content_type(std::string_view name) {
  static const std::map<std::string_view, std::string_view> types = {{"json", "application/json"},
                                                                     {"html", "text/html; charset=utf-8"},
                                                                     {"gz", "application/gzip"},
                                                                     {"xml", "text/xml; charset=utf-8"},
                                                                     {"zip", "application/zip"}};
  const std::size_t dot = name.rfind('.');
  const auto known = dot == std::string_view::npos ? types.end() : types.find(name.substr(dot + 1));
  return std::string(known == types.end() ? "text/plain; charset=utf-8" : known->second);
}

protocol::FileInfo file_info(std::string name, const struct stat& status) {
  protocol::FileInfo info;
  info.is_dir = S_ISDIR(status.st_mode);
  info.size = status.st_size;
  info.file_mode = mode_text(status.st_mode);
  info.mod_time = format_time(TimePoint{std::chrono::seconds{status.st_mtim.tv_sec}});
  if (!info.is_dir) info.content_type = content_type(name);
  info.name = std::move(name);
  return info;
}

/// "<task>/secrets" and "<task>/private" are not for people (Nomad: "Reading secret file prohibited").
void refuse_secrets(std::string_view path) {
  const auto plain = normalise(path);
  if (!plain) throw Error(Code::denied, fmt::format("'{}' leads out of the allocation's directory", path));
  const auto parts = split(*plain, '/');
  if (parts.size() < 2 || parts[0] == "alloc") return;
  if (parts[1] == "secrets" || parts[1] == "private")
    throw Error(Code::denied, fmt::format("'{}' holds secrets of the task", path))
        .because("they are for the task alone");
}

/// A link may have led there by another name.
void refuse_secrets(const os::Fd& file, const std::string& root) {
  char target[PATH_MAX];
  const auto size = ::readlink(fmt::format("/proc/self/fd/{}", file.get()).c_str(), target, sizeof target);
  if (size <= 0) throw errno_error(errno, "cannot tell where an open file lies");
  const std::string_view real(target, static_cast<std::size_t>(size));
  char real_root[PATH_MAX];
  const char* resolved = ::realpath(root.c_str(), real_root);
  const std::string prefix = resolved == nullptr ? root : resolved;
  if (real.starts_with(prefix)) refuse_secrets(real.substr(prefix.size()));
}

}  // namespace

std::optional<std::string> normalise(std::string_view path) {
  std::vector<std::string> parts;
  for (std::string& part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      if (parts.empty()) return std::nullopt;
      parts.pop_back();
      continue;
    }
    parts.push_back(std::move(part));
  }
  return join(parts, "/");
}

Beneath::Beneath(const std::string& root) : root_(root), directory_(os::open_directory(root)) {}

os::Fd Beneath::open(std::string_view path, int flags, mode_t mode) const {
  return open_at(directory_.get(), path, flags, mode);
}

std::pair<os::Fd, std::string> Beneath::open_parent(std::string_view path, std::optional<os::Owner> owner) const {
  const auto plain = normalise(path);
  if (!plain || plain->empty()) throw Error(Code::denied, fmt::format("'{}' leads out of {}", path, kPlace));
  const auto parts = split(*plain, '/');
  os::Fd parent = open(".", O_PATH | O_DIRECTORY);
  std::string walked;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    walked += (i == 0 ? "" : "/") + parts[i];
    const bool made = ::mkdirat(parent.get(), parts[i].c_str(), 0755) == 0;
    if (!made && errno != EEXIST) throw errno_error(errno, fmt::format("cannot make '{}' in {}", walked, kPlace));
    // From the root again, so that RESOLVE_BENEATH covers links on the way.
    parent = open(walked, O_RDONLY | O_DIRECTORY);
    if (made && owner && ::geteuid() == 0) (void)::fchown(parent.get(), owner->uid, owner->gid);
  }
  return {std::move(parent), parts.back()};
}

void Beneath::write(std::string_view path, std::string_view bytes, mode_t mode, std::optional<os::Owner> owner) const {
  const auto [parent, name] = open_parent(path, owner);
  const std::string temporary = fmt::format(".{}.{}", name.substr(0, 200), hex(random_bytes(6)));
  try {
    const os::Fd file(
        ::openat(parent.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) throw errno_error(errno, fmt::format("cannot write '{}' in {}", path, kPlace));
    os::write_all(file, bytes, path);
    if (owner && ::geteuid() == 0 && ::fchown(file.get(), owner->uid, owner->gid) != 0)
      throw errno_error(errno, fmt::format("cannot give '{}' to user {}", path, owner->uid));
    if (::fchmod(file.get(), mode) != 0) throw errno_error(errno, fmt::format("cannot set the mode of '{}'", path));
    if (::renameat(parent.get(), temporary.c_str(), parent.get(), name.c_str()) != 0)
      throw errno_error(errno, fmt::format("cannot replace '{}' in {}", path, kPlace));
  } catch (...) {
    ::unlinkat(parent.get(), temporary.c_str(), 0);
    throw;
  }
}

std::optional<std::string> Beneath::find(std::string_view path, std::size_t limit) const {
  try {
    return os::read_all(open(path, O_RDONLY | O_NONBLOCK), limit, path);
  } catch (const Error& error) {
    if (error.code() == Code::not_found) return std::nullopt;
    throw;
  }
}

std::vector<protocol::FileInfo> FileAccess::list(std::string_view path) const {
  refuse_secrets(path);
  os::Fd directory = beneath_.open(path, O_RDONLY | O_DIRECTORY);
  refuse_secrets(directory, beneath_.root());
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), &::closedir);
  if (!stream) throw errno_error(errno, fmt::format("cannot list '{}'", path));
  (void)directory.release();  // the stream owns it now
  std::vector<protocol::FileInfo> files;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat status{};
    if (::fstatat(::dirfd(stream.get()), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0)
      files.push_back(file_info(std::string(name), status));
  }
  std::ranges::sort(files, {}, &protocol::FileInfo::name);
  return files;
}

protocol::FileInfo FileAccess::stat(std::string_view path) const {
  refuse_secrets(path);
  const os::Fd file = beneath_.open(path, O_PATH);
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
  const std::string plain = normalise(path).value_or("");
  return file_info(plain.empty() ? "/" : plain.substr(plain.rfind('/') + 1), status);
}

os::Fd FileAccess::open(std::string_view path) const {
  refuse_secrets(path);
  // O_NONBLOCK: a fifo of the task must not block us.
  os::Fd file = beneath_.open(path, O_RDONLY | O_NONBLOCK);
  refuse_secrets(file, beneath_.root());
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) throw errno_error(errno, fmt::format("cannot read '{}'", path));
  if (S_ISDIR(status.st_mode)) throw Error(Code::invalid, fmt::format("file \"{}\" is a directory", path));
  if (!S_ISREG(status.st_mode))
    throw Error(Code::invalid, fmt::format("'{}' is no regular file", path)).advise("list it with `underway alloc fs`");
  return file;
}

}  // namespace underway::node
