#include "vm/state/arrival.hpp"

#include <fcntl.h>

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "os/file.hpp"
#include "vm/state/disk_image.hpp"
#include "vm/state/lease.hpp"
#include "vm/state/stream.hpp"

namespace underway::vm {
namespace {

constexpr std::string_view kDisk = ".qcow2";

driver::KeptBase look_at_base(const std::string& path) {
  const auto file = os::open_file(path, O_RDONLY | O_CLOEXEC);
  return {path, static_cast<std::uint64_t>(os::size_of(file, path)), file_digest(file, path)};
}

}  // namespace

std::vector<driver::KeptBase> find_bases(const std::string& directory) {
  std::vector<driver::KeptBase> found;
  for (const auto& entry : os::list_directory(directory)) {
    if (!entry.name.ends_with(kDisk)) continue;
    const auto base = base_of(directory + "/" + entry.name);
    // One in the directory itself travels with it.
    if (!base.empty() && !base.starts_with(directory + "/")) found.push_back(look_at_base(base));
  }
  return found;
}

std::string why_not_on(const std::vector<driver::KeptBase>& bases) {
  for (const auto& base : bases) {
    try {
      const auto here = look_at_base(base.path);
      if (here.bytes == base.bytes && here.sha256 == base.sha256) continue;
      return fmt::format("'{}' is another image here: its sha256 is {} and not {}", base.path, here.sha256,
                         base.sha256);
    } catch (const Error& error) {
      return error.one_line();
    }
  }
  return {};
}

void settle_arrival(const std::string& arrived, const Layout& layout) {
  if (!os::exists(arrived)) return;
  require_free(layout.directory, layout.machine.name);
  for (const auto& disk : layout.to_make) {
    const auto path = arrived + disk.path.substr(layout.directory.size());
    if (!disk.base.empty() && os::exists(path) && base_of(path) != disk.base) set_base(path, disk.base);
  }
  os::remove_tree(layout.directory);
  os::make_directories(layout.directory.substr(0, layout.directory.rfind('/')), 0700);
  if (std::rename(arrived.c_str(), layout.directory.c_str()) != 0)
    throw errno_error(errno, fmt::format("cannot move '{}' to '{}'", arrived, layout.directory));
}

}  // namespace underway::vm
