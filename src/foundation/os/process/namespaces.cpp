#include "os/process/namespaces.hpp"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/error.hpp"
#include "os/mount.hpp"

namespace underway::os {
namespace {

/// Its file below /proc/<pid>/ns.
const char* file_name(NamespaceKinds kind) {
  switch (kind) {
    case CLONE_NEWNET:
      return "net";
    case CLONE_NEWUTS:
      return "uts";
    case CLONE_NEWNS:
      return "mnt";
    case CLONE_NEWPID:
      return "pid";
    case CLONE_NEWIPC:
      return "ipc";
    case CLONE_NEWCGROUP:
      return "cgroup";
    case CLONE_NEWUSER:
      return "user";
    default:
      throw Error(Code::invalid, "a namespace has exactly one kind");
  }
}

/// Runs `body` on a fresh thread, which alone is moved between namespaces, and hands on its exception.
void on_fresh_thread(const std::function<void()>& body) {
  std::exception_ptr failure;
  std::thread([&] {
    try {
      body();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
}

Fd open_own(NamespaceKinds kind) {
  return open_file(fmt::format("/proc/self/task/{}/ns/{}", ::gettid(), file_name(kind)), O_RDONLY);
}

}  // namespace

Namespace Namespace::create(NamespaceKinds kind) {
  const char* name = file_name(kind);
  if (kind == CLONE_NEWPID || kind == CLONE_NEWUSER) {
    throw Error(Code::unsupported, fmt::format("a {} namespace cannot be made without a process", name));
  }
  Fd fd;
  on_fresh_thread([&] {
    // A thread shares its root and working directory with others until CLONE_FS is undone (unshare(2)).
    if (::unshare(kind == CLONE_NEWNS ? CLONE_NEWNS | CLONE_FS : kind) != 0) {
      throw errno_error(errno, fmt::format("cannot make a {} namespace", name));
    }
    fd = open_own(kind);
  });
  return {std::move(fd), kind};
}

Namespace Namespace::of_process(pid_t pid, NamespaceKinds kind) {
  return {open_file(fmt::format("/proc/{}/ns/{}", pid, file_name(kind)), O_RDONLY), kind};
}

Namespace Namespace::of_pidfd(Fd pidfd, NamespaceKinds kinds) { return {std::move(pidfd), kinds}; }

Namespace Namespace::open(const std::string& path, NamespaceKinds kind) {
  return {open_file(path, O_RDONLY | O_NOFOLLOW), kind};
}

void Namespace::pin(const std::string& path) const {
  Fd file = open_file(path, O_RDONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0444);
  const std::string source = fmt::format("/proc/self/fd/{}", fd_.get());
  if (::mount(source.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) != 0) {
    const int error = errno;
    ::unlink(path.c_str());
    throw errno_error(error, fmt::format("cannot pin a namespace at '{}'", path));
  }
}

void Namespace::unpin(const std::string& path) {
  unmount_all(path);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    throw errno_error(errno, fmt::format("cannot remove the pin '{}'", path));
  }
}

void detail::call_inside(const std::vector<const Namespace*>& namespaces, const std::function<void()>& body) {
  on_fresh_thread([&] {
    for (const auto* space : namespaces) {
      if ((space->kinds() & CLONE_NEWNS) != 0 && ::unshare(CLONE_FS) != 0) {
        throw errno_error(errno, "cannot part a thread from its process's root");
      }
      if (::setns(space->fd().get(), space->kinds()) != 0) throw errno_error(errno, "cannot enter a namespace");
    }
    body();
  });
}

}  // namespace underway::os
