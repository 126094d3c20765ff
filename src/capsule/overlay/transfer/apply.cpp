#include "overlay/transfer/detail/apply.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "overlay/detail/tree.hpp"
#include "overlay/transfer/detail/scan.hpp"

namespace underway::overlay {
namespace {

struct timespec time_of(std::int64_t ns) {
  constexpr std::int64_t kBillion = 1'000'000'000;
  auto seconds = ns / kBillion;
  auto rest = ns % kBillion;
  if (rest < 0) {
    rest += kBillion;
    --seconds;
  }
  return {.tv_sec = seconds, .tv_nsec = rest};
}

/// What is dressed: by its descriptor if it is open, which costs half of what a path does.
struct Dressed {
  int fd = -1;
  const std::string& reach;

  bool open() const { return fd >= 0; }
  int stat(struct stat& out) const { return open() ? ::fstat(fd, &out) : ::lstat(reach.c_str(), &out); }
  int own(uid_t uid, gid_t gid) const { return open() ? ::fchown(fd, uid, gid) : ::lchown(reach.c_str(), uid, gid); }
  int permit(mode_t mode) const { return open() ? ::fchmod(fd, mode) : ::chmod(reach.c_str(), mode); }
  ssize_t list(char* names, std::size_t size) const {
    return open() ? ::flistxattr(fd, names, size) : ::llistxattr(reach.c_str(), names, size);
  }
  int time(const struct timespec* times) const {
    return open() ? ::futimens(fd, times) : ::utimensat(AT_FDCWD, reach.c_str(), times, AT_SYMLINK_NOFOLLOW);
  }
};

void set_time(const Dressed& it, std::int64_t modified_ns, const std::string& what) {
  const std::array<struct timespec, 2> times = {timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, time_of(modified_ns)};
  if (it.time(times.data()) != 0) throw errno_error(errno, fmt::format("cannot set the time of '{}'", what));
}

std::vector<std::string> carried_attributes(const Dressed& it) {
  std::vector<std::string> names;
  const auto need = it.list(nullptr, 0);
  if (need <= 0) return names;
  std::string list(static_cast<std::size_t>(need), '\0');
  const auto size = it.list(list.data(), list.size());
  list.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
  for (auto& name : split(list, '\0')) {
    if (is_carried(name)) names.push_back(std::move(name));
  }
  return names;
}

void set_attributes(const Dressed& it, const Entry& entry) {
  const auto& reach = it.reach;
  for (const auto& name : carried_attributes(it)) {
    const auto wanted = [&](const auto& pair) { return pair.first == name; };
    if (std::none_of(entry.attributes.begin(), entry.attributes.end(), wanted) &&
        ::lremovexattr(reach.c_str(), name.c_str()) != 0 && errno != ENODATA)
      throw errno_error(errno, fmt::format("cannot remove the attribute '{}' of '{}'", name, entry.path));
  }
  for (const auto& [name, value] : entry.attributes) {
    if (find_attribute(reach, name) == value) continue;
    if (::lsetxattr(reach.c_str(), name.c_str(), value.data(), value.size(), 0) != 0)
      throw errno_error(errno, fmt::format("cannot set the attribute '{}' of '{}'", name, entry.path));
  }
}

}  // namespace

Applier::Applier(const std::string& tree, std::string trash) : name_(tree), trash_(std::move(trash)) {
  os::make_directories(tree);
  os::remove_tree(trash_);
  os::make_directories(trash_, 0700);
  root_ = os::open_directory(tree);
  trash_fd_ = os::open_directory(trash_);
}

os::Fd Applier::open_beneath(const std::string& path, int flags) const {
  struct open_how how = {};
  how.flags = static_cast<__u64>(flags) | O_CLOEXEC | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  const long raw = ::syscall(SYS_openat2, root_.get(), path.empty() ? "." : path.c_str(), &how, sizeof(how));
  return os::Fd(static_cast<int>(raw));
}

const os::Fd& Applier::parent_directory(const std::string& path) {
  if (parent_ && parent_path_ == path) return parent_;
  touched_.insert(path);
  parent_ = open_beneath(path, O_PATH | O_DIRECTORY);
  if (!parent_ && (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)) {
    make_parents(path);
    parent_ = open_beneath(path, O_PATH | O_DIRECTORY);
  }
  if (!parent_) throw errno_error(errno, fmt::format("cannot open '{}/{}'", name_, path));
  parent_path_ = path;
  return parent_;
}

void Applier::make_parents(const std::string& path) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = path.find('/', end + 1);
    const auto step = path.substr(0, end);
    if (open_beneath(step, O_PATH | O_DIRECTORY)) continue;
    const auto slash = step.rfind('/');
    const auto above = open_beneath(slash == std::string::npos ? "" : step.substr(0, slash), O_PATH | O_DIRECTORY);
    const auto name = slash == std::string::npos ? step : step.substr(slash + 1);
    clear({&above, name});
    touched_.insert(slash == std::string::npos ? "" : step.substr(0, slash));
    if (::mkdirat(above.get(), name.c_str(), 0700) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}/{}'", name_, step));
  }
}

Applier::Place Applier::place(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return {&parent_directory(""), path};
  return {&parent_directory(path.substr(0, slash)), path.substr(slash + 1)};
}

std::string Applier::reach_of(const Place& place) {
  return fmt::format("/proc/self/fd/{}/{}", place.parent->get(), place.name);
}

std::optional<struct stat> Applier::look(const Place& place) const {
  struct stat found = {};
  if (::fstatat(place.parent->get(), place.name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0) return found;
  if (errno == ENOENT) return std::nullopt;
  throw errno_error(errno, fmt::format("cannot look at '{}' in '{}'", place.name, name_));
}

void Applier::clear(const Place& place) {
  if (::unlinkat(place.parent->get(), place.name.c_str(), 0) == 0 || errno == ENOENT) return;
  if (errno != EISDIR && errno != EPERM)
    throw errno_error(errno, fmt::format("cannot remove '{}' in '{}'", place.name, name_));
  if (::unlinkat(place.parent->get(), place.name.c_str(), AT_REMOVEDIR) == 0) return;
  const auto discarded = std::to_string(discarded_++);
  if (::renameat(place.parent->get(), place.name.c_str(), trash_fd_.get(), discarded.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot take '{}' out of '{}'", place.name, name_));
  os::remove_tree(trash_ + "/" + discarded);
}

void Applier::remove(const std::string& path) {
  close_file();
  clear(place(path));
  parent_.reset();  // what was remembered may lie in what is gone
}

void Applier::put(const Entry& entry, bool fresh) {
  close_file();
  switch (entry.type) {
    case EntryType::directory:
      return put_directory(entry);
    case EntryType::file:
      return put_file(entry, fresh);
    case EntryType::link:
    case EntryType::whiteout:
    case EntryType::hard_link:
      break;
  }
  if (entry.type == EntryType::hard_link) return put_hard_link(entry);
  const auto at = place(entry.path);
  clear(at);
  const int made = entry.type == EntryType::whiteout
                       ? ::mknodat(at.parent->get(), at.name.c_str(), S_IFCHR, makedev(0, 0))
                       : ::symlinkat(entry.target.c_str(), at.parent->get(), at.name.c_str());
  if (made != 0) throw errno_error(errno, fmt::format("cannot make '{}/{}'", name_, entry.path));
  dress(reach_of(at), entry);
}

void Applier::put_hard_link(const Entry& entry) {
  const auto at = place(entry.path);
  const auto slash = entry.target.rfind('/');
  const auto holder =
      open_beneath(slash == std::string::npos ? "" : entry.target.substr(0, slash), O_PATH | O_DIRECTORY);
  const Place file{&holder, slash == std::string::npos ? entry.target : entry.target.substr(slash + 1)};
  const auto from = holder ? look(file) : std::nullopt;
  if (!from || !S_ISREG(from->st_mode)) return;  // put in again after a crash: a later difference takes it away
  const auto now = look(at);
  if (now && now->st_ino == from->st_ino && now->st_dev == from->st_dev) return;
  clear(at);
  if (::linkat(holder.get(), file.name.c_str(), at.parent->get(), at.name.c_str(), 0) != 0)
    throw errno_error(errno, fmt::format("cannot link '{}/{}'", name_, entry.path));
}

void Applier::put_directory(const Entry& entry) {
  touched_.insert(entry.path);
  if (entry.path.empty()) return dress(fmt::format("/proc/self/fd/{}/.", root_.get()), entry);
  const auto at = place(entry.path);
  const auto now = look(at);
  if (!now || !S_ISDIR(now->st_mode)) {
    clear(at);
    if (::mkdirat(at.parent->get(), at.name.c_str(), 0700) != 0)
      throw errno_error(errno, fmt::format("cannot make '{}/{}'", name_, entry.path));
  }
  dress(reach_of(at), entry);
}

void Applier::put_file(const Entry& entry, bool fresh) {
  const auto at = place(entry.path);
  const auto now = look(at);
  if (now && (fresh || !S_ISREG(now->st_mode))) clear(at);
  file_ =
      os::Fd(::openat(at.parent->get(), at.name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!file_) throw errno_error(errno, fmt::format("cannot open '{}/{}'", name_, entry.path));
  if (::ftruncate(file_.get(), static_cast<off_t>(entry.size)) != 0)
    throw errno_error(errno, fmt::format("cannot size '{}/{}'", name_, entry.path));
  open_reach_ = reach_of(at);
  open_ = entry;
  open_->blocks.clear();
}

void Applier::write(std::uint64_t offset, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw errno_error(errno, fmt::format("cannot write '{}/{}'", name_, open_->path));
    bytes.remove_prefix(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void Applier::zero(std::uint64_t offset, std::uint64_t length) {
  if (::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(length)) == 0)
    return;
  if (errno != EOPNOTSUPP) throw errno_error(errno, fmt::format("cannot write '{}/{}'", name_, open_->path));
  const std::string zeros(kBlockSize, '\0');
  for (std::uint64_t done = 0; done < length; done += kBlockSize)
    write(offset + done, std::string_view(zeros).substr(0, std::min(kBlockSize, length - done)));
}

void Applier::close_file() {
  if (!file_) return;
  // Last: writing takes away rights and changes the time.
  dress(open_reach_, *open_, file_.get());
  file_.reset();
  open_.reset();
}

void Applier::dress(const std::string& reach, const Entry& entry, int fd) const {
  const Dressed it{.fd = fd, .reach = reach};
  struct stat now = {};
  if (it.stat(now) != 0) throw errno_error(errno, fmt::format("cannot look at '{}/{}'", name_, entry.path));
  const bool owned = now.st_uid == entry.uid && now.st_gid == entry.gid;
  if (entry.type != EntryType::whiteout && !owned && it.own(entry.uid, entry.gid) != 0)
    throw errno_error(errno, fmt::format("cannot set the owner of '{}/{}'", name_, entry.path));
  const bool has_mode = entry.type == EntryType::file || entry.type == EntryType::directory;
  // Another owner takes rights away.
  const bool permitted = owned && (now.st_mode & 07777U) == entry.mode;
  if (has_mode && !permitted && it.permit(entry.mode) != 0)
    throw errno_error(errno, fmt::format("cannot set the mode of '{}/{}'", name_, entry.path));
  set_attributes(it, entry);
  if (entry.type == EntryType::file || entry.type == EntryType::link) set_time(it, entry.modified_ns, entry.path);
}

void Applier::finish(const Index& index) {
  close_file();
  // What was put into a directory has changed its time.
  for (const auto& path : touched_) {
    const auto* entry = index.find(path);
    if (entry == nullptr || entry->type != EntryType::directory) continue;
    const auto directory = open_beneath(path, O_PATH | O_DIRECTORY);
    struct stat now = {};
    if (!directory || ::fstat(directory.get(), &now) != 0)
      throw errno_error(errno, fmt::format("cannot look at '{}/{}'", name_, path));
    if (nanos(now.st_mtim) == entry->modified_ns) continue;
    const auto reach = fmt::format("/proc/self/fd/{}/.", directory.get());
    set_time({.reach = reach}, entry->modified_ns, path);
  }
  if (::syncfs(root_.get()) != 0) throw errno_error(errno, fmt::format("cannot write out '{}'", name_));
}

}  // namespace underway::overlay
