#pragma once
/// @file
/// Kernel namespaces: made, kept alive by a descriptor, pinned to a path, and entered.
///
/// A namespace lives as long as a process is in it, a descriptor is open on it, or a path is pinned to it. Only a pin
/// outlives us: record it in the ledger before making it.

#include <sched.h>
#include <sys/types.h>

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "os/fd.hpp"

namespace underway::os {

/// A set of CLONE_NEW* bits (clone(2)).
using NamespaceKinds = int;
inline constexpr NamespaceKinds kHostNamespaces =
    CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWCGROUP;

/// One namespace, or all those of a process (when opened by pidfd), held by a descriptor.
class Namespace {
 public:
  /// Makes a fresh namespace of one kind without a process in it: net, uts, ipc, cgroup or mount (not pid).
  static Namespace create(NamespaceKinds kind);
  /// The namespace of `kind` that the process `pid` is in (/proc/<pid>/ns/…).
  static Namespace of_process(pid_t pid, NamespaceKinds kind);
  /// Several namespaces of the process behind `pidfd` at once (setns(2) on a pidfd, kernel 5.8).
  static Namespace of_pidfd(Fd pidfd, NamespaceKinds kinds);
  /// A pinned namespace, e.g. "/run/underway/netns/switch".
  static Namespace open(const std::string& path, NamespaceKinds kind);

  const Fd& fd() const { return fd_; }
  NamespaceKinds kinds() const { return kinds_; }
  /// Binds the namespace to `path`, which is created as an empty file. Not for of_pidfd namespaces.
  void pin(const std::string& path) const;
  /// Undoes `pin`; nothing happens when nothing is pinned there.
  static void unpin(const std::string& path);

 private:
  Namespace(Fd fd, NamespaceKinds kinds) : fd_(std::move(fd)), kinds_(kinds) {}
  Fd fd_;
  NamespaceKinds kinds_ = 0;
};

namespace detail {
void call_inside(const std::vector<const Namespace*>& namespaces, const std::function<void()>& body);
}

/// Runs `body` inside `namespaces` (net, uts, ipc, cgroup, mount) and hands back its result or exception.
///
/// It runs on a thread of its own that dies afterwards, so nothing of the caller moves; descriptors opened inside
/// (sockets!) stay valid outside. A process inside a pid namespace needs `spawn` with `join`.
template <class Body>
auto call_inside(const std::vector<const Namespace*>& namespaces, Body&& body) -> std::invoke_result_t<Body&> {
  using Result = std::invoke_result_t<Body&>;
  if constexpr (std::is_void_v<Result>) {
    detail::call_inside(namespaces, [&] { body(); });
  } else {
    std::optional<Result> result;
    detail::call_inside(namespaces, [&] { result.emplace(body()); });
    return std::move(*result);
  }
}
template <class Body>
auto call_inside(const Namespace& space, Body&& body) {
  return call_inside(std::vector<const Namespace*>{&space}, std::forward<Body>(body));
}

}  // namespace underway::os
