#include "files/targets/target.hpp"

#include <fcntl.h>

#include "base/error.hpp"
#include "os/file.hpp"

namespace underway::files {
namespace {

constexpr std::size_t kMostMounts = 32U << 20;

os::Fd open_root(const std::string& path) { return os::open_file(path, O_PATH | O_DIRECTORY); }

}  // namespace

os::Fd NodeTarget::root() const { return open_root(root_); }

std::string NodeTarget::mounts() const { return os::read_file("/proc/self/mountinfo", kMostMounts); }

os::ProcessIdentity NodeTarget::start(os::SpawnSpec spec) const { return os::spawn_detached(spec); }

void ProcessTarget::check() const {
  if (!os::is_running(init_))
    throw Error(Code::unavailable, fmt::format("capsule '{}' does not run here", name_))
        .because(fmt::format("its process {} has gone", init_.pid));
}

std::string ProcessTarget::proc(std::string_view what) const { return fmt::format("/proc/{}/{}", init_.pid, what); }

os::Fd ProcessTarget::root() const {
  check();
  os::Fd fd = open_root(proc("root"));
  // The number may have been given to another process between the check and the open.
  check();
  return fd;
}

std::string ProcessTarget::mounts() const {
  check();
  return os::read_file(proc("mountinfo"), kMostMounts);
}

os::ProcessIdentity ProcessTarget::start(os::SpawnSpec spec) const {
  auto pidfd = os::Pidfd::find(init_);
  if (!pidfd) check();
  const auto inside = os::Namespace::of_pidfd(pidfd->release(), os::kHostNamespaces & ~CLONE_NEWCGROUP);
  spec.join.push_back(&inside);
  return os::spawn_detached(spec);
}

}  // namespace underway::files
