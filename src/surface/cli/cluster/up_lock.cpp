#include "cli/cluster/up_lock.hpp"

#include <unistd.h>

#include <filesystem>

#include "cli/terminal.hpp"

namespace underway::cli {

os::FileLock lock_changes(const std::string& state_directory, const std::string& holder, bool wait) {
  std::filesystem::create_directories(state_directory);
  const std::string path = state_directory + "/up.lock";
  bool told = false;
  while (wait) {
    if (auto lock = os::FileLock::try_acquire(path, holder)) return std::move(*lock);
    if (!std::exchange(told, true))
      say(fmt::format("waiting: the cluster is being changed by {}", os::FileLock::holder_of(path)));
    ::usleep(100'000);
  }
  return os::FileLock::acquire(path, holder);
}

}  // namespace underway::cli
