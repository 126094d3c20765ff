// What file systems do at no cost: snapshots of subvolumes, and files that share their blocks; and what a copy costs.
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "base/error.hpp"
#include "os/file.hpp"
#include "overlay/detail/tree.hpp"
#include "overlay/snapshot/detail/snapshot.hpp"
#include "overlay/snapshot/method.hpp"

namespace underway::overlay {
namespace {

/// A file without a name beside `file`, to try something with: several may at once, and none is left behind.
os::Fd nameless_beside(const std::string& file) {
  const auto directory = std::filesystem::path(file).parent_path().string();
  os::Fd made(::open(directory.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (made || (errno != EOPNOTSUPP && errno != EISDIR)) return made;
  auto name = file + ".probe-XXXXXX";  // NFS has no such files, and clones
  made = os::Fd(::mkostemp(name.data(), O_CLOEXEC));
  if (made) ::unlink(name.c_str());
  return made;
}

}  // namespace

void clone_subvolume(const std::string& from, const std::string& into, const std::string& name, bool read_only) {
  const auto source = os::open_directory(from), directory = os::open_directory(into);
  struct btrfs_ioctl_vol_args_v2 arguments = {};
  arguments.fd = source.get();
  arguments.flags = read_only ? BTRFS_SUBVOL_RDONLY : 0;
  name.copy(arguments.name, sizeof(arguments.name) - 1);
  if (::ioctl(directory.get(), BTRFS_IOC_SNAP_CREATE_V2, &arguments) != 0)
    throw errno_error(errno, fmt::format("cannot make a snapshot of '{}' as '{}/{}'", from, into, name));
}

void remove_subvolume(const std::string& directory, const std::string& name) {
  if (!os::exists(directory + "/" + name)) return;
  const auto at = os::open_directory(directory);
  struct btrfs_ioctl_vol_args arguments = {};
  name.copy(arguments.name, sizeof(arguments.name) - 1);
  if (::ioctl(at.get(), BTRFS_IOC_SNAP_DESTROY, &arguments) != 0)
    throw errno_error(errno, fmt::format("cannot remove the subvolume '{}/{}'", directory, name));
}

bool can_clone(const std::string& file) {
  const os::Fd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  const os::Fd to = from ? nameless_beside(file) : os::Fd();
  if (!to) return false;  // on a full disk, too
  struct file_clone_range range = {};
  range.src_fd = from.get();
  range.src_length = 4096;
  return ::ioctl(to.get(), FICLONERANGE, &range) == 0;
}

std::uint64_t disk_bytes(const std::string& directory) {
  std::uint64_t blocks = 0;
  Tree(directory).walk([&](const Tree::Item& item) {
    blocks += static_cast<std::uint64_t>(item.stat.st_blocks);
    return true;
  });
  return 512 * blocks;  // inode(7)
}

void clone_file(const std::string& from, const std::string& to) {
  const auto source = os::open_file(from, O_RDONLY);
  const auto target = os::open_file(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::ioctl(target.get(), FICLONE, source.get()) != 0)
    throw errno_error(errno, fmt::format("cannot clone '{}' to '{}'", from, to));
}

}  // namespace underway::overlay
