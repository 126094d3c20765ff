#include <fcntl.h>
#include <linux/btrfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "base/text.hpp"
#include "overlay/detail/loop.hpp"
#include "overlay/detail/make.hpp"
#include "overlay/detail/state.hpp"

namespace underway::overlay {
namespace {

/// mkfs.btrfs numbers devices from 1 in the order of its arguments, and a replacement takes over the number.
std::uint64_t device_number(std::size_t file) { return file + 1; }

}  // namespace

void make_subvolume(const std::string& directory, const std::string& name) {
  if (os::exists(directory + "/" + name)) return;
  const auto at = os::open_directory(directory);
  struct btrfs_ioctl_vol_args arguments = {};
  name.copy(arguments.name, sizeof(arguments.name) - 1);
  if (::ioctl(at.get(), BTRFS_IOC_SUBVOL_CREATE, &arguments) != 0 && errno != EEXIST)
    throw errno_error(errno, fmt::format("cannot make the subvolume '{}' in '{}'", name, directory));
}

Scrubbed Mounted::scrub() {
  if (kind() != Kind::btrfs && kind() != Kind::raid1)
    throw Error(Code::unsupported, fmt::format("cannot scrub the overlay '{}'", dir()))
        .because(fmt::format("{} keeps no checksums of data", describe::spell(kind())));
  const auto at = os::open_directory(root());
  Scrubbed total;
  for (std::size_t i = 0; i < files().size(); ++i) {
    if (state_->record.stale == static_cast<std::int64_t>(i)) continue;
    struct btrfs_ioctl_scrub_args arguments = {};
    arguments.devid = device_number(i);
    arguments.end = ~std::uint64_t{0};
    if (::ioctl(at.get(), BTRFS_IOC_SCRUB, &arguments) != 0)
      throw errno_error(errno, fmt::format("cannot scrub '{}'", files()[i]));
    const auto& found = arguments.progress;
    total.checked_bytes += found.data_bytes_scrubbed + found.tree_bytes_scrubbed;
    total.mended += found.corrected_errors;
    total.unmended += found.uncorrectable_errors + found.unverified_errors;
  }
  return total;
}

void Mounted::repair() {
  auto& record = state_->record;
  if (kind() != Kind::raid1 || !record.stale) return;
  const auto lost = static_cast<std::size_t>(*record.stale);
  const auto& file = record.files[lost];
  if (::unlink(file.c_str()) != 0 && errno != ENOENT)
    throw errno_error(errno, fmt::format("cannot remove the old '{}'", file));
  os::make_directories(file.substr(0, file.rfind('/')), 0700);
  refuse_one_file_system(record);
  reserve(file, static_cast<std::uint64_t>(record.size_bytes));
  const auto loop = Loop::attach(file);
  // One that an earlier crash left behind; there is seldom one.
  run_tool({"btrfs", "replace", "cancel", root()}, {0, 1, 2});
  run_tool({"btrfs", "replace", "start", "-B", "-f", std::to_string(device_number(lost)), loop.device(), root()}, {0},
           std::chrono::hours{24});
  // What was written while only one was there has only one copy.
  run_tool({"btrfs", "balance", "start", "-f", "-dconvert=raid1,soft", "-mconvert=raid1,soft", root()}, {0},
           std::chrono::hours{24});
  record.stale.reset();
  write_record(dir(), record);
  std::erase_if(state_->warnings, [](const std::string& warning) { return warning.starts_with("DEGRADED"); });
}

}  // namespace underway::overlay
