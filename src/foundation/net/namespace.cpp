#include "net/namespace.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/error.hpp"

namespace underway::net {
namespace {

int open_own() { return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); }

/// A helper thread, because a thread's namespace ends with it: the caller's is never touched, not even on failure.
void on_helper_thread(const std::function<void()>& work) {
  std::exception_ptr failure;
  std::thread helper([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
  });
  helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace

Namespace Namespace::create(std::string label) {
  Namespace made(-1, std::move(label));
  on_helper_thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      throw errno_error(errno, fmt::format("cannot create network namespace '{}'", made.label_));
    }
    made.fd_ = open_own();
    if (made.fd_ < 0) throw errno_error(errno, fmt::format("cannot open network namespace '{}'", made.label_));
  });
  return made;
}

Namespace Namespace::open(const std::string& path) {
  Namespace opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  if (opened.fd_ < 0) throw errno_error(errno, fmt::format("cannot open network namespace '{}'", path));
  if (::ioctl(opened.fd_, NS_GET_NSTYPE) != CLONE_NEWNET) {
    throw Error(Code::invalid, fmt::format("'{}' is no network namespace", path))
        .because("nothing is pinned there, or a namespace of another type");
  }
  return opened;
}

Namespace Namespace::of_process(pid_t pid, std::string label) {
  Namespace opened(::open(fmt::format("/proc/{}/ns/net", pid).c_str(), O_RDONLY | O_CLOEXEC), std::move(label));
  if (opened.fd_ < 0) {
    throw errno_error(errno, fmt::format("cannot open network namespace '{}' of process {}", opened.label_, pid));
  }
  return opened;
}

Namespace Namespace::current() {
  Namespace opened(open_own(), "this machine");
  if (opened.fd_ < 0) throw errno_error(errno, "cannot open the own network namespace");
  return opened;
}

Namespace::~Namespace() {
  if (fd_ >= 0) ::close(fd_);
}

void Namespace::pin(const std::string& path) const {
  const auto what = [&] { return fmt::format("cannot pin network namespace '{}' at '{}'", label_, path); };
  if (is_pinned(path)) throw errno_error(EEXIST, what());
  const int file = ::open(path.c_str(), O_RDONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0444);
  if (file < 0) throw errno_error(errno, what());
  ::close(file);
  if (::mount(fmt::format("/proc/self/fd/{}", fd_).c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    const int problem = errno;
    ::unlink(path.c_str());
    throw errno_error(problem, what());
  }
}

void Namespace::run(const std::function<void()>& work) const {
  on_helper_thread([&] {
    if (::setns(fd_, CLONE_NEWNET) != 0) {
      throw errno_error(errno, fmt::format("cannot enter network namespace '{}'", label_));
    }
    work();
  });
}

bool is_pinned(const std::string& path) {
  struct statfs fs{};
  return ::statfs(path.c_str(), &fs) == 0 && fs.f_type == NSFS_MAGIC;
}

bool unpin(const std::string& path) {
  // A crash between mount and record can leave the pin doubled: take away every layer, bounded.
  for (int layer = 0; layer < 8 && is_pinned(path); ++layer) {
    if (::umount2(path.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) != 0) {
      throw errno_error(errno, fmt::format("cannot unmount the network namespace pinned at '{}'", path));
    }
  }
  if (::unlink(path.c_str()) == 0) return true;
  if (errno == ENOENT) return false;
  throw errno_error(errno, fmt::format("cannot remove the pin '{}'", path));
}

}  // namespace underway::net
