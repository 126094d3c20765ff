#include "oci/confine.hpp"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "os/fd.hpp"

namespace underway::oci {

bool write_only_below(const std::string& directory) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  // The first one refuses every rename from one directory to another.
  if (version < 2) return false;
  constexpr std::uint64_t kWrites =
      LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
      LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
      LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
      LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER;
  const landlock_ruleset_attr wanted{.handled_access_fs = kWrites};
  const os::Fd rules(static_cast<int>(::syscall(SYS_landlock_create_ruleset, &wanted, sizeof wanted, 0)));
  if (!rules) return false;
  const os::Fd below = os::open_file(directory, O_PATH | O_DIRECTORY);
  const landlock_path_beneath_attr allowed{.allowed_access = kWrites, .parent_fd = below.get()};
  if (::syscall(SYS_landlock_add_rule, rules.get(), LANDLOCK_RULE_PATH_BENEATH, &allowed, 0) != 0 ||
      ::syscall(SYS_landlock_restrict_self, rules.get(), 0) != 0)
    throw errno_error(errno, fmt::format("cannot confine this process to '{}'", directory));
  return true;
}

}  // namespace underway::oci
