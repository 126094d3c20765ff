#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/loop.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "os/file.hpp"
#include "overlay/detail/loop.hpp"

namespace underway::overlay {
namespace {

constexpr unsigned kLoopMajor = 7;                                            // devices.txt of the kernel
constexpr unsigned kMiscMajor = 10, kLoopControl = 237, kBtrfsControl = 234;  // linux/miscdevice.h

/// Opens a device, which is made first where it is missing and may be made.
os::Fd open_node(const std::string& path, mode_t type, dev_t device) {
  const os::Fd none;
  int raw = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (raw < 0 && errno == ENOENT) {
    if (::mknod(path.c_str(), type | 0600, device) != 0 && errno != EEXIST)
      throw errno_error(errno, fmt::format("cannot make the device '{}'", path));
    raw = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  }
  if (raw < 0) throw errno_error(errno, fmt::format("cannot open the device '{}'", path));
  return os::Fd(raw);
}

std::string device_path(int number) { return fmt::format("/dev/loop{}", number); }
os::Fd open_loop(int number) {
  return open_node(device_path(number), S_IFBLK, makedev(kLoopMajor, static_cast<unsigned>(number)));
}

/// Number and file of each device in use.
std::vector<std::pair<int, std::string>> in_use() {
  std::vector<std::pair<int, std::string>> list;
  for (const auto& entry : os::list_directory("/sys/block")) {
    if (!entry.name.starts_with("loop")) continue;
    const auto number = parse_number<int>(std::string_view(entry.name).substr(4));
    const auto file = os::find_file("/sys/block/" + entry.name + "/loop/backing_file");
    if (file && number) list.emplace_back(*number, std::string(trim(*file)));
  }
  return list;
}

[[noreturn]] void none_free(const std::string& file, int error) {
  std::string users;
  const auto list = in_use();
  for (const auto& [number, held] : list) users += fmt::format("{}loop{}: {}", users.empty() ? "" : ", ", number, held);
  throw Error(Code::exhausted, fmt::format("no loop device is free for '{}'", file))
      .because(errno_error(error, fmt::format("{} are in use ({})", list.size(), users)).one_line())
      .advise("stop what uses one of them, or raise max_loop of the kernel's module `loop`");
}

/// False when somebody else was faster.
bool configure(const os::Fd& loop, const os::Fd& file, const std::string& path) {
  struct loop_config config = {};
  config.fd = static_cast<__u32>(file.get());
  config.info.lo_flags = LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO;
  path.copy(reinterpret_cast<char*>(config.info.lo_file_name), LO_NAME_SIZE - 1);
  if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) return true;
  if (errno == EBUSY) return false;
  if (errno == EINVAL) {
    // Kernels before 6.14 refuse what the file cannot do, later ones leave it out.
    config.info.lo_flags = LO_FLAGS_AUTOCLEAR;
    if (::ioctl(loop.get(), LOOP_CONFIGURE, &config) == 0) return true;
    if (errno == EBUSY) return false;
  }
  throw errno_error(errno, fmt::format("cannot attach '{}' to a loop device", path));
}

}  // namespace

Loop Loop::attach(const std::string& path) {
  const auto file = os::open_file(path, O_RDWR);
  const auto control = open_node("/dev/loop-control", S_IFCHR, makedev(kMiscMajor, kLoopControl));
  // Between asking for a free device and taking it others may take it; then there is another.
  for (int attempt = 0; attempt < 64; ++attempt) {
    const int number = ::ioctl(control.get(), LOOP_CTL_GET_FREE);
    if (number < 0) none_free(path, errno);
    os::Fd loop;
    try {
      loop = open_loop(number);
    } catch (const Error&) {
      none_free(path, ENODEV);
    }
    if (configure(loop, file, path)) return Loop(std::move(loop), device_path(number));
  }
  none_free(path, EBUSY);
}

std::optional<std::string> find_loop(const std::string& file) {
  struct stat wanted = {};
  if (::stat(file.c_str(), &wanted) != 0) return std::nullopt;
  for (const auto& [number, held] : in_use()) {
    struct loop_info64 info = {};
    const auto loop = open_loop(number);
    if (::ioctl(loop.get(), LOOP_GET_STATUS64, &info) != 0) continue;  // detached meanwhile
    if (info.lo_inode == wanted.st_ino && info.lo_device == wanted.st_dev) return device_path(number);
  }
  return std::nullopt;
}

void forget_btrfs_device(const std::string& device) {
  const auto control = open_node("/dev/btrfs-control", S_IFCHR, makedev(kMiscMajor, kBtrfsControl));
  struct btrfs_ioctl_vol_args arguments = {};
  device.copy(arguments.name, sizeof(arguments.name) - 1);
  if (::ioctl(control.get(), BTRFS_IOC_FORGET_DEV, &arguments) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot make btrfs forget '{}'", device));
}

void grow_loop(const std::string& device) {
  const auto loop = os::open_file(device, O_RDWR);
  if (::ioctl(loop.get(), LOOP_SET_CAPACITY) != 0)
    throw errno_error(errno, fmt::format("cannot grow the loop device '{}'", device));
}

}  // namespace underway::overlay
