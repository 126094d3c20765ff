#include "node/allocation/allocation_directory.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "os/access_list.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::node {

namespace {

[[noreturn]] void fail(const char* what, const std::string& path) {
  throw errno_error(errno, fmt::format("cannot {} '{}'", what, path));
}

/// A directory of root's that tasks cannot replace, made with those above it. Modes must not depend on the agent's
/// umask.
os::Fd make_fixed(const std::string& path, mode_t mode) {
  os::make_directories(path, mode);
  os::Fd fd = os::open_file(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (::fchmod(fd.get(), mode) != 0) fail("set the mode of", path);
  return fd;
}

/// One in a directory that a task may write to, by descriptors: with a link in its place, the next start of the task
/// would give away /etc. What is no directory goes.
os::Fd make_inside(const os::Fd& parent, const std::string& path, mode_t mode, std::optional<os::Owner> owner = {}) {
  const std::string name = path.substr(path.rfind('/') + 1);
  constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  os::Fd fd;
  for (int attempt = 0; attempt < 2 && !fd; ++attempt) {
    if (::mkdirat(parent.get(), name.c_str(), mode) != 0 && errno != EEXIST) fail("make", path);
    fd = os::Fd(::openat(parent.get(), name.c_str(), kFlags));
    if (!fd && errno != ELOOP && errno != ENOTDIR) fail("open", path);
    if (!fd && ::unlinkat(parent.get(), name.c_str(), 0) != 0) fail("remove what lies in the place of", path);
  }
  if (!fd) fail("open", path);
  if (owner && ::geteuid() == 0 && ::fchown(fd.get(), owner->uid, owner->gid) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}' to user {}", path, owner->uid));
  // After the change of owner, which takes bits away (chown(2)).
  if (::fchmod(fd.get(), mode) != 0) fail("set the mode of", path);
  return fd;
}

/// Secrets stay in memory. Without the right to mount (an agent that is not root), a private directory serves.
void mount_secrets(const os::Fd& directory, const std::string& path, const os::Owner& owner, std::int64_t size_mb) {
  if (::geteuid() != 0 || os::is_mount_point(path)) return;
  // 1 MiB as Nomad's default; nosuid and friends as for any place that tasks write to.
  const auto size = std::max<std::int64_t>(1, size_mb);
  os::Mount::tmpfs(fmt::format("/proc/self/fd/{}", directory.get()),
                   fmt::format("size={}m,mode=0700,uid={},gid={}", size, owner.uid, owner.gid), os::kDataOnly)
      .release();
}

}  // namespace

AllocationDirectory::AllocationDirectory(const std::string& data_dir, std::string_view allocation_id)
    : root_(fmt::format("{}/alloc/{}", data_dir, allocation_id)) {}

std::string AllocationDirectory::task(std::string_view name) const { return fmt::format("{}/{}", root_, name); }

TaskPaths AllocationDirectory::host_paths(std::string_view task_name) const {
  const std::string own = task(task_name);
  return {shared(), own + "/local", own + "/secrets", false, true};
}

void AllocationDirectory::build() const {
  make_fixed(root_.substr(0, root_.rfind('/')), 0711);
  // Whoever was let pass has an entry of his own, which a mode set anew would take its rights from.
  if (!os::exists(root_)) make_fixed(root_, 0700);
  // What is root's in it stays where it is: nobody puts a link in the place of `logs`, where the keeper writes as root.
  const os::Fd shared = make_fixed(this->shared(), 01777);
  make_inside(shared, logs(), 0755);
  for (const char* name : {"data", "tmp"}) make_inside(shared, this->shared() + "/" + name, 0777);
}

void AllocationDirectory::build_task(std::string_view name, const os::User& user, const TaskUse& use) const {
  const os::Owner owner{user.uid, user.gid}, agent{::geteuid(), ::getegid()};
  const std::string own = task(name);
  // Root by path is a daemon that becomes another user, as slurmctld does, and reads its files again as that one.
  const bool becomes_others = use.by_path && user.uid == 0 && ::geteuid() == 0;
  // It may make files here, and neither rename nor remove what is not its own: `private` has the keeper's controls.
  const os::Fd directory = make_fixed(own, becomes_others ? 0755 : ::geteuid() == 0 ? 01770 : 0700);
  if (::geteuid() == 0 && ::fchown(directory.get(), agent.uid, user.gid) != 0) fail("give away", own);
  make_inside(directory, own + "/local", 0755, owner);
  make_inside(directory, own + "/tmp", 0777 | S_ISVTX, owner);
  make_inside(directory, own + "/private", 0700, agent);
  // A tmpfs of an earlier start is mounted there: it is opened, not made.
  const os::Fd secrets = make_inside(directory, own + "/secrets", 0700, owner);
  if (use.secrets_in_memory) mount_secrets(secrets, own + "/secrets", owner, use.secrets_mb);
  if (becomes_others) make_fixed(root_, 0711);
  if (use.by_path && user.uid != 0 && ::geteuid() == 0) os::let_pass(root_, user.uid);
}

void AllocationDirectory::destroy() const {
  if (!os::exists(root_)) return;
  // Tasks may have mounted more below: deepest first.
  auto mounts = os::list_mounts();
  for (auto mount = mounts.rbegin(); mount != mounts.rend(); ++mount)
    if (mount->target.starts_with(root_ + "/")) os::unmount_all(mount->target);
  os::remove_tree(root_);
}

std::vector<std::string> remove_strays(const std::string& data_dir, const std::set<std::string>& known) {
  std::vector<std::string> removed;
  const std::string root = data_dir + "/alloc";
  if (!os::exists(root)) return removed;
  for (const auto& entry : os::list_directory(root)) {
    if (known.contains(entry.name)) continue;
    AllocationDirectory(data_dir, entry.name).destroy();
    removed.push_back(entry.name);
  }
  return removed;
}

}  // namespace underway::node
