#include <linux/btrfs.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "base/error.hpp"
#include "overlay/detail/loop.hpp"
#include "overlay/detail/make.hpp"
#include "overlay/detail/state.hpp"

namespace underway::overlay {
namespace {

void grow_btrfs(const std::string& root, std::size_t files) {
  const auto at = os::open_directory(root);
  for (std::size_t i = 0; i < files; ++i) {
    // mkfs.btrfs numbers devices from 1, in the order of its arguments.
    struct btrfs_ioctl_vol_args arguments = {};
    fmt::format("{}:max", i + 1).copy(arguments.name, sizeof(arguments.name) - 1);
    if (::ioctl(at.get(), BTRFS_IOC_RESIZE, &arguments) != 0)
      throw errno_error(errno, fmt::format("cannot grow the file system at '{}'", root));
  }
}

void keep_size(Mounted::State& state, std::uint64_t size_bytes) {
  state.record.size_bytes = static_cast<std::int64_t>(size_bytes);
  write_record(state.dir, state.record);
}

}  // namespace

void grow_unmounted(Mounted::State& state, std::uint64_t size_bytes) {
  if (state.record.kind != Kind::ext4 || find_loop(state.record.files[0])) return;
  reserve(state.record.files[0], size_bytes);
  check_before_mount(state.record, true);
  run_tool({"resize2fs", state.record.files[0]});
  keep_size(state, size_bytes);
}

void grow(Mounted::State& state, std::uint64_t size_bytes) {
  if (state.record.stale)
    throw Error(Code::conflict, fmt::format("cannot grow the overlay '{}'", state.dir))
        .because(loss_warning(state.record))
        .advise("repair it first");
  for (std::size_t i = 0; i < state.record.files.size(); ++i) {
    reserve(state.record.files[i], size_bytes);
    grow_loop(state.device(i));
  }
  switch (state.record.kind) {
    case Kind::directory:
      break;
    case Kind::ext4:
      run_tool({"resize2fs", state.device(0)});
      break;
    case Kind::xfs:
      run_tool({"xfs_growfs", state.root});
      break;
    case Kind::btrfs:
    case Kind::raid1:
      grow_btrfs(state.root, state.record.files.size());
      break;
  }
  keep_size(state, size_bytes);
}

}  // namespace underway::overlay
