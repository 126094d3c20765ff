#include "oci/root.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/process/user.hpp"

namespace underway::oci {
namespace {

/// Beneath `root`, whatever links are on the way; -1 and errno.
os::Fd open_in(const os::Fd& root, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  const std::string name = path.empty() ? "." : path;
  return os::Fd(static_cast<int>(::syscall(SYS_openat2, root.get(), name.c_str(), &how, sizeof how)));
}

std::string leaf_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

/// The number in field `index` of the line of `name`.
std::optional<std::uint32_t> find_id(const std::optional<std::string>& file, const std::string& name,
                                     std::size_t index) {
  for (const auto& line : split(file.value_or(""), '\n')) {
    const auto fields = split(line, ':');
    if (fields.size() > index && fields[0] == name) {
      if (const auto id = os::parse_id(fields[index])) return id;
    }
  }
  return {};
}

}  // namespace

std::string_view directory_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string Root::Place::directory_path() const { return fmt::format("/proc/self/fd/{}", directory()); }
std::string Root::Place::path() const { return directory_path() + "/" + leaf_; }

Root::Root(std::string path)
    : path_(std::move(path)), root_(os::open_file(path_, O_PATH | O_DIRECTORY)), owned_(::geteuid() == 0) {}

os::Fd Root::find_directory(std::string_view path) const {
  os::Fd found = open_in(root_, std::string(path), O_PATH | O_DIRECTORY);
  if (!found && errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
    throw errno_error(errno, fmt::format("cannot open the directory '{}' of the image", path));
  return found;
}

os::Fd Root::make_directories(std::string_view path) const {
  if (auto found = find_directory(path)) return found;
  if (errno != ENOENT || path.empty())
    throw Error(Code::denied, fmt::format("'{}' cannot be a directory of the image", path))
        .because(errno_name(errno) + ": something on the way is no directory");
  const os::Fd parent = make_directories(directory_of(path));
  if (::mkdirat(parent.get(), leaf_of(path).c_str(), 0755) != 0 && errno == EEXIST)
    throw Error(Code::denied, fmt::format("'{}' cannot be a directory of the image", path))
        .because("it is a link that leads nowhere in the image");
  if (!find_directory(path)) throw errno_error(errno, fmt::format("cannot make the directory '{}' of the image", path));
  if (::fchmodat(parent.get(), leaf_of(path).c_str(), 0755, 0) != 0)
    throw errno_error(errno, fmt::format("cannot set the mode of '{}'", path));
  return find_directory(path);
}

Root::Place Root::place(std::string_view path) const { return {make_directories(directory_of(path)), leaf_of(path)}; }

std::optional<Root::Place> Root::find_place(std::string_view path) const {
  auto directory = find_directory(directory_of(path));
  if (!directory) return {};
  return Place(std::move(directory), leaf_of(path));
}

std::optional<std::string> Root::read(std::string_view path, std::size_t limit) const {
  const os::Fd file = open_in(root_, std::string(path), O_RDONLY | O_NONBLOCK);
  if (!file) {
    if (errno == ENOENT || errno == ENOTDIR) return {};
    throw errno_error(errno, fmt::format("cannot open '{}' of the image", path));
  }
  return os::read_all(file, limit, fmt::format("'{}' of the image", path));
}

os::Fd Root::open(std::string_view path) const {
  // O_NONBLOCK: a fifo must not block us.
  os::Fd file = open_in(root_, std::string(path), O_RDONLY | O_NONBLOCK);
  if (!file) throw errno_error(errno, fmt::format("cannot open '{}' of the image", path));
  return file;
}

void Root::write(std::string_view path, std::string_view bytes, mode_t mode, os::Owner owner) const {
  const auto at = place(path);
  os::remove_tree(at.path());
  const os::Fd file(
      ::openat(at.directory(), at.leaf().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file) throw errno_error(errno, fmt::format("cannot make '{}' in the image", path));
  os::write_all(file, bytes, fmt::format("'{}' of the image", path));
  if (owned_ && ::fchown(file.get(), owner.uid, owner.gid) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}' to its owner", path));
  // After the owner, whose change clears setuid.
  if (::fchmod(file.get(), mode) != 0) throw errno_error(errno, fmt::format("cannot set the mode of '{}'", path));
}

void Root::link(std::string_view path, const std::string& target) const {
  const auto at = place(path);
  os::remove_tree(at.path());
  if (::symlinkat(target.c_str(), at.directory(), at.leaf().c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot make the link '{}' in the image", path));
}

void Root::make_directory(std::string_view path, mode_t mode, os::Owner owner) const {
  const os::Fd directory = make_directories(path);
  const std::string name = fmt::format("/proc/self/fd/{}", directory.get());
  if (owned_ && ::chown(name.c_str(), owner.uid, owner.gid) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}' to its owner", path));
  if (::chmod(name.c_str(), mode) != 0) throw errno_error(errno, fmt::format("cannot set the mode of '{}'", path));
}

void Root::remove(std::string_view path) const {
  if (const auto at = find_place(path); at && !at->leaf().empty()) os::remove_tree(at->path());
}

bool Root::has(std::string_view path) const {
  const auto at = find_place(path);
  struct stat st{};
  return at && ::fstatat(at->directory(), at->leaf().c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0;
}

std::vector<os::DirectoryEntry> Root::list(std::string_view path) const {
  const os::Fd directory = open_in(root_, std::string(path), O_PATH | O_DIRECTORY);
  if (!directory) return {};
  return os::list_directory(fmt::format("/proc/self/fd/{}", directory.get()));
}

std::vector<std::string> Root::glob(std::string_view pattern) const {
  std::vector<std::string> found{""};
  for (const auto& part : split(pattern.substr(pattern.starts_with('/') ? 1 : 0), '/')) {
    std::vector<std::string> next;
    for (const auto& prefix : found) {
      if (part.find('*') == std::string::npos) {
        next.push_back(prefix + "/" + part);
        continue;
      }
      for (const auto& entry : list(prefix))
        if (glob_match(part, entry.name)) next.push_back(prefix + "/" + entry.name);
    }
    found = std::move(next);
  }
  std::erase_if(found, [&](const auto& path) { return !has(path); });
  return found;
}

os::Owner Root::owner(const std::string& user, const std::string& group) const {
  os::Owner out;
  if (user != "root" || !group.empty()) {
    const auto users = read("etc/passwd");
    const auto number = os::parse_id(user);
    const auto uid = number ? number : find_id(users, user, 2);
    if (!uid && user != "root") throw Error(Code::not_found, fmt::format("the image has no user '{}'", user));
    out.uid = uid.value_or(0);
    out.gid = number ? out.uid : find_id(users, user, 3).value_or(0);
  }
  if (group.empty() || group == "root") {
    if (group == "root") out.gid = 0;
    return out;
  }
  const auto number = os::parse_id(group);
  const auto gid = number ? number : find_id(read("etc/group"), group, 2);
  if (!gid) throw Error(Code::not_found, fmt::format("the image has no group '{}'", group));
  out.gid = *gid;
  return out;
}

}  // namespace underway::oci
