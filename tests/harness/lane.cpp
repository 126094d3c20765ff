// main() of the tests that use the real machine. Each has a network and mounts of its own, so that several of them run
// at once and each finds what it left behind itself. Processes, cgroups and the file tree are the machine's: there a
// test keeps to names of its own.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>
#include <string>

namespace {

void require(bool done, const std::string& what) {
  if (!done) throw std::runtime_error(what + ": " + ::strerror(errno));
}

/// A new network begins with a loopback that is down.
void set_up_loopback() {
  const int socket = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  require(socket >= 0, "cannot open a socket");
  ifreq request{};
  ::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP;
  require(::ioctl(socket, SIOCSIFFLAGS, &request) == 0, "cannot set up the loopback");
  ::close(socket);
}

/// /sys shows the links of the network it was mounted in (sysfs(5)); the cgroups below it stay what they are.
void show_own_links() {
  const int cgroups = ::open_tree(AT_FDCWD, "/sys/fs/cgroup", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
  require(::umount2("/sys", MNT_DETACH) == 0, "cannot unmount /sys");
  require(::mount("sysfs", "/sys", "sysfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0, "cannot mount /sys");
  if (cgroups < 0) return;  // a machine without cgroups
  require(::move_mount(cgroups, "", AT_FDCWD, "/sys/fs/cgroup", MOVE_MOUNT_F_EMPTY_PATH) == 0,
          "cannot keep the cgroups");
  ::close(cgroups);
}

void enter_lane() {
  // Whoever may not has the tests say for themselves what they lack.
  if (::unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) {
    std::cerr << "in the machine's own network and mounts: " << ::strerror(errno) << "\n";
    return;
  }
  require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "cannot make mounts private");
  set_up_loopback();
  show_own_links();
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!GTEST_FLAG_GET(list_tests)) enter_lane();
  return RUN_ALL_TESTS();
}
