#include "vm/state/lease.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/error.hpp"
#include "base/text.hpp"

namespace underway::vm {

namespace {

constexpr std::array kLeases = {"lease", "lease-target"};

/// Empty: nobody.
std::string holder_of(const std::string& path) {
  const os::Fd file(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return {};
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_GETLK, &lock) != 0)
    throw errno_error(errno, fmt::format("cannot ask who holds '{}'", path));
  if (lock.l_type == F_UNLCK) return {};
  const auto who = os::find_file(path + ".holder", 4096).value_or("a machine that nobody named");
  // A process of another host has no number here (fcntl(2)).
  return lock.l_pid > 0 ? fmt::format("pid {} ({})", lock.l_pid, trim(who)) : std::string(trim(who));
}

}  // namespace

std::string lease_holder(const std::string& directory) {
  for (const auto* lease : kLeases) {
    if (auto holder = holder_of(fmt::format("{}/{}", directory, lease)); !holder.empty()) return holder;
  }
  return {};
}

void require_free(const std::string& directory, const std::string& machine) {
  const auto holder = lease_holder(directory);
  if (holder.empty()) return;
  throw Error(Code::conflict, fmt::format("machine '{}' runs already", machine))
      .because(fmt::format("its lease in '{}' is held by {}", directory, holder))
      .advise("stop that one first, or suspend it and resume it here");
}

std::string choose_lease(const std::string& directory, const std::string& machine, const std::string& who,
                         bool target) {
  std::string path = fmt::format("{}/{}", directory, kLeases[0]);
  if (target && !holder_of(path).empty()) path = fmt::format("{}/{}", directory, kLeases[1]);
  if (!target || !holder_of(path).empty()) require_free(directory, machine);
  os::write_file(path + ".holder", who + "\n", 0600, {}, os::Durability::cached);
  return path;
}

bool other_is_held(const std::string& directory, const std::string& own_lease) {
  for (const auto* lease : kLeases) {
    const auto path = fmt::format("{}/{}", directory, lease);
    if (path != own_lease && !holder_of(path).empty()) return true;
  }
  return false;
}

bool is_held(const std::string& lease) { return !holder_of(lease).empty(); }

bool machine_is_busy(const std::string& directory) { return !os::FileLock::holder_of(directory + "/turn").empty(); }

Turn Turn::take(const std::string& directory, const std::string& what) {
  return Turn(os::FileLock::acquire(directory + "/turn", what));
}

}  // namespace underway::vm
