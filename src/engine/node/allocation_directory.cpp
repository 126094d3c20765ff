#include "node/allocation_directory.hpp"

#include <dirent.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.hpp"
#include "base/log.hpp"
#include "os/file.hpp"
#include "os/mount.hpp"

namespace underway::node {

namespace {

/// Modes must not depend on the agent's umask.
void make_directory(const std::string& path, mode_t mode, std::optional<os::Owner> owner = {}) {
  os::make_directories(path, mode, owner);
  if (::chmod(path.c_str(), mode) != 0) throw errno_error(errno, fmt::format("cannot set the mode of '{}'", path));
  if (owner && ::geteuid() == 0 && ::chown(path.c_str(), owner->uid, owner->gid) != 0)
    throw errno_error(errno, fmt::format("cannot give '{}' to user {}", path, owner->uid));
}

/// Secrets stay in memory. Without the right to mount (an agent that is not root), a private directory serves.
void mount_secrets(const std::string& path, const os::Owner& owner, std::int64_t size_mb) {
  if (::geteuid() != 0 || os::is_mount_point(path)) return;
  // 1 MiB as Nomad's default; nosuid and friends as for any place that tasks write to.
  const auto size = std::max<std::int64_t>(1, size_mb);
  os::Mount::tmpfs(path, fmt::format("size={}m,mode=0700,uid={},gid={}", size, owner.uid, owner.gid),
                   MS_NOSUID | MS_NODEV | MS_NOEXEC)
      .release();
}

}  // namespace

AllocationDirectory::AllocationDirectory(const std::string& data_dir, std::string_view allocation_id)
    : root_(fmt::format("{}/alloc/{}", data_dir, allocation_id)) {}

std::string AllocationDirectory::task(std::string_view name) const { return fmt::format("{}/{}", root_, name); }

TaskPaths AllocationDirectory::host_paths(std::string_view task_name) const {
  const std::string own = task(task_name);
  return {shared(), own + "/local", own + "/secrets"};
}

void AllocationDirectory::build() const {
  make_directory(root_.substr(0, root_.rfind('/')), 0711);
  make_directory(root_, 0755);
  make_directory(shared(), 0777);
  make_directory(logs(), 0755);
  for (const char* name : {"data", "tmp"}) make_directory(shared() + "/" + name, 0777);
}

void AllocationDirectory::build_task(std::string_view name, const os::User& user, bool secrets_in_memory,
                                     std::int64_t secrets_mb) const {
  const os::Owner owner{user.uid, user.gid};
  const std::string own = task(name);
  make_directory(own, 0755, owner);
  make_directory(own + "/local", 0755, owner);
  make_directory(own + "/tmp", 0777 | S_ISVTX, owner);
  make_directory(own + "/private", 0700, os::Owner{::geteuid(), ::getegid()});
  make_directory(own + "/secrets", 0700, owner);
  if (secrets_in_memory) mount_secrets(own + "/secrets", owner, secrets_mb);
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
