#include "run/sync.hpp"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.hpp"
#include "base/text.hpp"
#include "os/file.hpp"

namespace underway::run {
namespace {

Error cannot(const std::string& why) {
  return Error(Code::unsupported, "no service can be held here until what it saved is on the standby").because(why);
}

}  // namespace

os::Capabilities sync_capabilities() {
  os::Capabilities set = 0;
  for (const auto* name : {"sys_admin", "sys_ptrace", "setpcap"}) set |= os::find_capability(name).value_or(0);
  return set;
}

void require_sync() {
  seccomp_notif_sizes sizes{};
  utsname system{};
  int major = 0, minor = 0;
  ::uname(&system);
  const bool known = std::sscanf(system.release, "%d.%d", &major, &minor) == 2;
  // SECCOMP_USER_NOTIF_FLAG_CONTINUE came with 5.5.
  if (!known || major < 5 || (major == 5 && minor < 5) ||
      ::syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
    throw cannot(fmt::format("that needs Linux 5.5 with seccomp, and this is {}", system.release))
        .advise("run it on a newer kernel, or without `sync` in its block `protect`");
  // ptrace(2): nobody may attach to anything.
  if (trim(os::find_file("/proc/sys/kernel/yama/ptrace_scope").value_or("")) == "3")
    throw cannot("kernel.yama.ptrace_scope is 3").advise("set it to 2 at the most, which takes a restart of the host");
}

}  // namespace underway::run
