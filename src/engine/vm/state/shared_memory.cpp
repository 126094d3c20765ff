#include "vm/state/shared_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "base/text.hpp"
#include "crypto/digest.hpp"
#include "os/file.hpp"
#include "vm/qmp/line_socket.hpp"
#include "vm/state/lease.hpp"

namespace underway::vm {
namespace {

os::FileLock lock_root(const std::string& root) {
  os::make_directories(root, 0700);
  const auto path = root + "/lock";
  for (const Deadline deadline(std::chrono::seconds{10});;) {
    if (auto lock = os::FileLock::try_acquire(path, "shared memory of machines")) return *std::move(lock);
    if (deadline.passed()) return os::FileLock::acquire(path, "shared memory of machines");
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

std::string user_file(const std::string& place, const std::string& directory) {
  return fmt::format("{}/users/{}", place, hex(crypto::sha256(directory)).substr(0, 16));
}

/// Forgets those that have ended.
std::vector<std::string> living_users(const std::string& place, const std::string& besides) {
  std::vector<std::string> living;
  if (!os::exists(place + "/users")) return living;
  for (const auto& entry : os::list_directory(place + "/users")) {
    const auto path = place + "/users/" + entry.name;
    const auto directory = std::string(trim(os::find_file(path, 4096).value_or("")));
    const bool lives =
        !directory.empty() && directory != besides && (!lease_holder(directory).empty() || machine_is_busy(directory));
    if (lives)
      living.push_back(directory);
    else
      ::unlink(path.c_str());
  }
  return living;
}

void remove_if_unused(const std::string& place, const std::string& besides) {
  if (living_users(place, besides).empty()) os::remove_tree(place);
}

}  // namespace

std::string share_memory(const std::string& root, const std::string& name, std::int64_t memory_mb,
                         const std::string& directory) {
  const auto lock = lock_root(root);
  const auto place = root + "/" + name;
  if (os::exists(place)) remove_if_unused(place, {});
  os::make_directories(place + "/users", 0700);
  const auto path = place + "/memory";
  const auto bytes = memory_mb << 20;
  const auto file = os::open_file(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  const auto size = os::size_of(file, path);
  if (size != 0 && size != bytes)
    throw Error(Code::conflict, fmt::format("machines cannot share the memory '{}'", name))
        .because(fmt::format("it is there with {} MiB and not {}, and used by '{}'", size >> 20, memory_mb,
                             join(living_users(place, {}), "', '")))
        .advise("give all of them the same size");
  if (size == 0 && ::ftruncate(file.get(), bytes) != 0)
    throw errno_error(errno, fmt::format("cannot make '{}' of {} MiB", path, memory_mb));
  os::write_file(user_file(place, directory), directory + "\n", 0600, {}, os::Durability::cached);
  return path;
}

std::vector<std::string> memory_users(const std::string& root, const std::string& name) {
  const auto lock = lock_root(root);
  return living_users(root + "/" + name, {});
}

void release_memory(const std::string& root, const std::string& name, const std::string& directory) {
  const auto lock = lock_root(root);
  const auto place = root + "/" + name;
  if (os::exists(place)) remove_if_unused(place, directory);
}

void reap_memory(const std::string& root) {
  if (!os::exists(root)) return;
  const auto lock = lock_root(root);
  for (const auto& entry : os::list_directory(root)) {
    if (entry.name != "lock") remove_if_unused(root + "/" + entry.name, {});
  }
}

}  // namespace underway::vm
