// What file systems do at no cost: snapshots of subvolumes, and files that share their blocks.
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "os/file.hpp"
#include "overlay/detail/snapshot.hpp"

namespace underway::overlay {

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
  const auto probe = file + ".probe";
  const auto from = os::open_file(file, O_RDONLY);
  const auto to = os::open_file(probe, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  struct file_clone_range range = {};
  range.src_fd = from.get();
  range.src_length = 4096;
  const bool cloned = ::ioctl(to.get(), FICLONERANGE, &range) == 0;
  if (::unlink(probe.c_str()) != 0) throw errno_error(errno, fmt::format("cannot remove '{}'", probe));
  return cloned;
}

void clone_file(const std::string& from, const std::string& to) {
  const auto source = os::open_file(from, O_RDONLY);
  const auto target = os::open_file(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (::ioctl(target.get(), FICLONE, source.get()) != 0)
    throw errno_error(errno, fmt::format("cannot clone '{}' to '{}'", from, to));
}

}  // namespace underway::overlay
