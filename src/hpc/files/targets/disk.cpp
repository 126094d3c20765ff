#include "files/targets/disk.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "files/targets/bytes.hpp"
#include "os/process/user.hpp"

namespace underway::files {

using model::FileType;

namespace {

/// Of /etc/passwd and /etc/group.
constexpr std::size_t kMostNames = 64U << 20;

std::int64_t nanos(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

Presence presence_of(mode_t mode) {
  if (S_ISREG(mode)) return Presence::file;
  if (S_ISDIR(mode)) return Presence::directory;
  return S_ISLNK(mode) ? Presence::symlink : Presence::other;
}

std::string read_link(const os::Fd& directory, const std::string& name) {
  std::string text(4096, '\0');
  const ssize_t n = ::readlinkat(directory.get(), name.c_str(), text.data(), text.size());
  text.resize(n < 0 ? 0 : static_cast<std::size_t>(n));
  return text;
}

std::string mode_text(std::int64_t mode) { return fmt::format("{:04o}", mode); }

void flush(const os::Fd& fd, const std::string& path) {
  if (::fsync(fd.get()) != 0) throw errno_error(errno, fmt::format("cannot flush '{}' to disk", path));
}

/// An O_PATH descriptor cannot be flushed.
void flush_directory(const os::Fd& directory, const std::string& path) {
  const os::Fd fd(::openat(directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) throw errno_error(errno, fmt::format("cannot open the directory of '{}'", path));
  flush(fd, path);
}

/// Its own name would be too long with more.
std::string temporary_name(const std::string& name) { return "." + name.substr(0, 230) + ".underway"; }

/// What is not renamed into place goes away.
class Temporary {
 public:
  Temporary(const os::Fd& directory, std::string name) : directory_(directory), name_(std::move(name)) {
    // Left by one that was killed here.
    ::unlinkat(directory_.get(), name_.c_str(), 0);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  ~Temporary() {
    if (!name_.empty()) ::unlinkat(directory_.get(), name_.c_str(), 0);
  }
  const char* name() const { return name_.c_str(); }
  /// False: see errno.
  bool rename_to(const std::string& to) {
    if (::renameat(directory_.get(), name_.c_str(), directory_.get(), to.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  const os::Fd& directory_;
  std::string name_;
};

}  // namespace

bool Stamp::fits(const struct stat& status) const {
  return inode == static_cast<std::int64_t>(status.st_ino) && size == status.st_size &&
         mtime == nanos(status.st_mtim) && ctime == nanos(status.st_ctim);
}

Stamp stamp_of(const struct stat& status, std::string digest) {
  return {static_cast<std::int64_t>(status.st_ino), status.st_size, nanos(status.st_mtim), nanos(status.st_ctim),
          std::move(digest)};
}

TargetTree::TargetTree(const FileTarget& target)
    : target_(target), root_(target.root()), mounts_(os::parse_mountinfo(target.mounts())) {}

/// `path` up to `end` is what `name` below `from` is.
os::Fd TargetTree::step(const os::Fd& from, const std::string& name, const std::string& path, std::size_t end,
                        bool make) const {
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  os::Fd next(::openat(from.get(), name.c_str(), kFlags));
  if (next) return next;
  int error = errno;
  if (error == ENOENT && make) {
    if (::mkdirat(from.get(), name.c_str(), 0755) != 0 && errno != EEXIST)
      throw errno_error(errno, fmt::format("cannot make the directory '{}'", path.substr(0, end)));
    next = os::Fd(::openat(from.get(), name.c_str(), kFlags));
    if (next) return next;
    error = errno;
  }
  if (error == ENOENT) return {};
  const std::string link = read_link(from, name);
  if (link.empty()) throw errno_error(error, fmt::format("cannot enter '{}'", path.substr(0, end)));
  const std::string above = path.substr(0, end - name.size());
  const std::string real = (link.starts_with('/') ? link : above + link) + path.substr(end);
  throw Error(Code::denied, fmt::format("'{}' is not written", path))
      .because(fmt::format("'{}' on the way is a symbolic link to '{}', and links are not followed",
                           path.substr(0, end), link))
      .advise(fmt::format("declare the file by its real path, '{}'", real));
}

std::optional<TargetTree::Place> TargetTree::find(const std::string& path) const {
  Place place{root_.duplicate(), {}};
  std::size_t begin = 1;
  for (auto slash = path.find('/', begin); slash != std::string::npos; slash = path.find('/', begin)) {
    place.directory = step(place.directory, path.substr(begin, slash - begin), path, slash, false);
    if (!place.directory) return std::nullopt;
    begin = slash + 1;
  }
  place.name = path.substr(begin);
  return place;
}

TargetTree::Place TargetTree::open(const std::string& path) const {
  Place place{root_.duplicate(), {}};
  std::size_t begin = 1;
  for (auto slash = path.find('/', begin); slash != std::string::npos; slash = path.find('/', begin)) {
    place.directory = step(place.directory, path.substr(begin, slash - begin), path, slash, true);
    begin = slash + 1;
  }
  place.name = path.substr(begin);
  return place;
}

// --- looking ---

Observed TargetTree::observe(const ManifestEntry& entry, const Stamp* known) const {
  Observed out;
  const auto place = find(entry.path);
  if (!place) return out;
  struct stat st{};
  if (::fstatat(place->directory.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return out;
    throw errno_error(errno, fmt::format("cannot examine '{}'", entry.path));
  }
  out.presence = presence_of(st.st_mode);
  out.mode = st.st_mode & 07777;
  out.uid = st.st_uid;
  out.gid = st.st_gid;
  out.size = st.st_size;
  if (out.presence == Presence::symlink) {
    out.link = read_link(place->directory, place->name);
    return out;
  }
  if (out.presence == Presence::other) return out;
  const bool fits = known != nullptr && known->fits(st);
  if (fits) out.digest = known->digest;
  const bool read = out.presence == Presence::file && !fits && st.st_size == entry.size && entry.type == FileType::file;
  if (!read && entry.xattrs.empty()) return out;
  const os::Fd fd(
      ::openat(place->directory.get(), place->name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) throw errno_error(errno, fmt::format("cannot open '{}'", entry.path));
  if (read) out.digest = file_digest(fd, "'" + entry.path + "'");
  for (const auto& [name, value] : entry.xattrs) {
    std::string have(value.size() + 1, '\0');
    const ssize_t n = ::fgetxattr(fd.get(), name.c_str(), have.data(), have.size());
    if (n >= 0) out.xattrs[name] = have.substr(0, static_cast<std::size_t>(n));
  }
  return out;
}

Look TargetTree::look(const ManifestEntry& entry, const Stamp* known) const {
  Look out;
  try {
    out.ids = ids_of(entry);
    out.observed = observe(entry, known);
  } catch (const Error& error) {
    out.observed.error = error.one_line();
    if (!error.advice().empty()) out.observed.error += "; " + error.advice();
  }
  return out;
}

std::optional<Stamp> TargetTree::stamp(const ManifestEntry& entry) const {
  if (entry.type != FileType::file) return std::nullopt;
  const auto place = find(entry.path);
  struct stat st{};
  if (!place || ::fstatat(place->directory.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
    return std::nullopt;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &now);  // by which the kernel stamps files
  if (nanos(st.st_ctim) >= nanos(now)) return std::nullopt;
  return stamp_of(st, entry.digest);
}

std::optional<os::Fd> TargetTree::open_regular(const std::string& path) const {
  const auto place = find(path);
  if (!place) return std::nullopt;
  os::Fd fd(::openat(place->directory.get(), place->name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) throw errno_error(errno, fmt::format("cannot open '{}'", path));
  struct stat st{};
  if (::fstat(fd.get(), &st) != 0 || !S_ISREG(st.st_mode))
    throw Error(Code::invalid, fmt::format("'{}' is no regular file", path));
  return fd;
}

std::optional<std::string> TargetTree::read(const std::string& path, std::size_t limit) const {
  const auto fd = open_regular(path);
  if (!fd) return std::nullopt;
  return os::read_all(*fd, limit, "'" + path + "'");
}

// --- names ---

void TargetTree::read_names() const {
  if (names_read_) return;
  names_read_ = true;
  users_.clear();
  groups_.clear();
  const auto take = [&](const std::string& path, std::map<std::string, std::int64_t>& into) {
    const auto text = read(path, kMostNames);
    if (!text) return;
    for (const auto& line : split(*text, '\n')) {
      const auto parts = split(line, ':');
      if (parts.size() < 3) continue;
      if (const auto number = parse_number<std::uint32_t>(parts[2])) into.emplace(parts[0], *number);
    }
  };
  take("/etc/passwd", users_);
  take("/etc/group", groups_);
}

Ids TargetTree::ids_of(const ManifestEntry& entry) const {
  read_names();
  Ids ids{parse_number<std::uint32_t>(entry.owner), parse_number<std::uint32_t>(entry.group)};
  if (const auto it = users_.find(entry.owner); it != users_.end()) ids.uid = it->second;
  if (const auto it = groups_.find(entry.group); it != groups_.end()) ids.gid = it->second;
  // A machine without an /etc/passwd still has a root.
  if (!ids.uid && entry.owner == "root") ids.uid = 0;
  if (!ids.gid && entry.group == "root") ids.gid = 0;
  if (target_.uses_name_service()) {
    if (!ids.uid) {
      if (const auto user = os::find_user(entry.owner)) ids.uid = user->uid;
    }
    if (!ids.gid) {
      if (const auto group = os::find_group(entry.group)) ids.gid = *group;
    }
  }
  return ids;
}

std::pair<std::int64_t, std::int64_t> TargetTree::owners(const ManifestEntry& entry) const {
  const Ids ids = ids_of(entry);
  if (!ids.uid || !ids.gid)
    throw Error(Code::denied, fmt::format("'{}' is not written", entry.path))
        .because(!ids.uid ? fmt::format("there is no user '{}' here", entry.owner)
                          : fmt::format("there is no group '{}' here", entry.group))
        .advise("synchronise /etc/passwd and /etc/group too, or give the owner as a number");
  return {*ids.uid, *ids.gid};
}

std::string TargetTree::user_name(std::int64_t uid) const {
  read_names();
  const auto it = std::ranges::find_if(users_, [&](const auto& entry) { return entry.second == uid; });
  return it == users_.end() ? std::to_string(uid) : it->first;
}

std::string TargetTree::group_name(std::int64_t gid) const {
  read_names();
  const auto it = std::ranges::find_if(groups_, [&](const auto& entry) { return entry.second == gid; });
  return it == groups_.end() ? std::to_string(gid) : it->first;
}

// --- putting ---

/// rename(2) onto a mount point fails with EBUSY in its own mount namespace; from another one it succeeds and detaches
/// the mount without a word (mount_namespaces(7)).
void TargetTree::refuse_mounts(const std::string& path) const {
  const auto it = std::ranges::find_if(mounts_, [&](const os::MountPoint& mount) { return mount.target == path; });
  if (it == mounts_.end()) return;
  throw Error(Code::conflict, fmt::format("'{}' is not written", path))
      .because(fmt::format("it is a mount point itself: '{}' of {} {} is bound to this one file, and a file that is "
                           "mounted cannot be replaced (EBUSY)",
                           it->root, it->type, it->source))
      .advise("mount its directory instead, or put an overlay over it");
}

void TargetTree::set_metadata(const os::Fd& fd, const ManifestEntry& entry) const {
  const auto [uid, gid] = owners(entry);
  const auto fail = [&](std::string_view what) {
    return errno_error(errno, fmt::format("cannot set the {} of '{}'", what, entry.path));
  };
  // Nobody gets at it in between who may not afterwards.
  if (::fchmod(fd.get(), static_cast<mode_t>(entry.mode) & 0700) != 0) throw fail("mode");
  if (::fchown(fd.get(), static_cast<uid_t>(uid), static_cast<gid_t>(gid)) != 0) throw fail("owner");
  for (const auto& [name, value] : entry.xattrs) {
    if (::fsetxattr(fd.get(), name.c_str(), value.data(), value.size(), 0) != 0) throw fail("attribute " + name);
  }
  if (::fchmod(fd.get(), static_cast<mode_t>(entry.mode)) != 0) throw fail("mode " + mode_text(entry.mode));
}

void TargetTree::put_file(const ManifestEntry& entry, const os::Fd& bytes) const {
  const Place place = open(entry.path);
  Temporary temporary(place.directory, temporary_name(place.name));
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const os::Fd fd(::openat(place.directory.get(), temporary.name(), kFlags, 0600));
  if (!fd) throw errno_error(errno, fmt::format("cannot write beside '{}'", entry.path));
  if (copy_bytes(bytes, fd, "'" + entry.path + "'") != entry.digest)
    throw Error(Code::conflict, fmt::format("'{}' is not written", entry.path))
        .because("the bytes that were fetched for it are not those that the manifest names any more")
        .advise("look at the disk of the agent's data directory; the next look fetches them anew");
  set_metadata(fd, entry);
  flush(fd, entry.path);
  if (!temporary.rename_to(place.name)) throw errno_error(errno, fmt::format("cannot replace '{}'", entry.path));
  flush_directory(place.directory, entry.path);
}

void TargetTree::put_link(const ManifestEntry& entry) const {
  const Place place = open(entry.path);
  const auto [uid, gid] = owners(entry);
  Temporary temporary(place.directory, temporary_name(place.name));
  if (::symlinkat(entry.link.c_str(), place.directory.get(), temporary.name()) != 0 ||
      ::fchownat(place.directory.get(), temporary.name(), static_cast<uid_t>(uid), static_cast<gid_t>(gid),
                 AT_SYMLINK_NOFOLLOW) != 0)
    throw errno_error(errno, fmt::format("cannot make a link beside '{}'", entry.path));
  if (!temporary.rename_to(place.name)) throw errno_error(errno, fmt::format("cannot replace '{}'", entry.path));
  flush_directory(place.directory, entry.path);
}

void TargetTree::put_directory(const ManifestEntry& entry) const {
  const Place place = open(entry.path);
  struct stat st{};
  const bool there = ::fstatat(place.directory.get(), place.name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
  if (there && !S_ISDIR(st.st_mode))
    throw Error(Code::conflict, fmt::format("cannot make the directory '{}'", entry.path))
        .because("something else stands in its place")
        .advise("move it away, or declare it `absent` first");
  if (!there && ::mkdirat(place.directory.get(), place.name.c_str(), 0700) != 0)
    throw errno_error(errno, fmt::format("cannot make the directory '{}'", entry.path));
  adjust(entry);
  flush_directory(place.directory, entry.path);
}

void TargetTree::adjust(const ManifestEntry& entry) const {
  const Place place = open(entry.path);
  if (entry.type == FileType::symlink) return put_link(entry);
  const int kind = entry.type == FileType::directory ? O_DIRECTORY : 0;
  const os::Fd fd(
      ::openat(place.directory.get(), place.name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | kind));
  if (!fd) throw errno_error(errno, fmt::format("cannot open '{}'", entry.path));
  set_metadata(fd, entry);
  flush(fd, entry.path);
}

void TargetTree::remove(const ManifestEntry& entry) const {
  const auto place = find(entry.path);
  if (!place) return;
  struct stat st{};
  if (::fstatat(place->directory.get(), place->name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return;
    throw errno_error(errno, fmt::format("cannot examine '{}'", entry.path));
  }
  const int flags = S_ISDIR(st.st_mode) ? AT_REMOVEDIR : 0;
  if (::unlinkat(place->directory.get(), place->name.c_str(), flags) != 0 && errno != ENOENT) {
    const int error = errno;
    if (error == ENOTEMPTY || error == EEXIST)
      throw Error(Code::conflict, fmt::format("cannot remove the directory '{}'", entry.path))
          .because("it is not empty")
          .advise("declare what lies in it as absent too, or empty it");
    throw errno_error(error, fmt::format("cannot remove '{}'", entry.path));
  }
  flush_directory(place->directory, entry.path);
}

void TargetTree::make(const Change& change, const os::Fd& bytes) {
  const auto& entry = change.entry;
  if (entry.type != FileType::directory) refuse_mounts(entry.path);
  if (change.action == Action::remove)
    remove(entry);
  else if (entry.type == FileType::directory)
    put_directory(entry);
  else if (change.action == Action::adjust)
    adjust(entry);
  else if (entry.type == FileType::symlink)
    put_link(entry);
  else
    put_file(entry, bytes);
  if (entry.path == "/etc/passwd" || entry.path == "/etc/group") names_read_ = false;
}

const describe::Structure& description(describe::Tag<Stamp>) {
  static const describe::Structure s =
      describe::Builder<Stamp>("stamp", "A file that was read.")
          .wire<&Stamp::inode>("Inode", "Its inode number.")
          .wire<&Stamp::size>("Size", "Its size in bytes.")
          .wire<&Stamp::mtime>("Mtime", "When its content was last changed, Unix time in nanoseconds.")
          .wire<&Stamp::ctime>("Ctime", "When its inode was last changed, Unix time in nanoseconds.")
          .wire<&Stamp::digest>("Digest", "SHA-256 of what it held when it was read, hexadecimal.")
          .done();
  return s;
}

}  // namespace underway::files
