#pragma once
/// @file
/// Network namespaces as owned values. The calling thread's own namespace is never changed: work inside a namespace
/// runs on a short-lived helper thread, and sockets opened there keep belonging to it when used from anywhere.

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>

namespace underway::net {

class Namespace {
 public:
  /// A new, empty namespace (its `lo` is down). It lives as long as a process, a pin or this value holds it.
  /// `label` names it in errors. Errors: denied without CAP_SYS_ADMIN.
  static Namespace create(std::string label);
  /// The pinned namespace at `path`. Errors: not_found, invalid when `path` is no network namespace.
  static Namespace open(const std::string& path);
  /// The namespace of a running process. Errors: not_found.
  static Namespace of_process(pid_t pid, std::string label);
  /// The calling thread's own.
  static Namespace current();

  Namespace(Namespace&& other) noexcept : fd_(std::exchange(other.fd_, -1)), label_(std::move(other.label_)) {}
  Namespace& operator=(Namespace&& other) noexcept {
    std::swap(fd_, other.fd_);
    std::swap(label_, other.label_);
    return *this;
  }
  Namespace(const Namespace&) = delete;
  Namespace& operator=(const Namespace&) = delete;
  ~Namespace();

  int fd() const { return fd_; }
  /// How errors call it: "network namespace 'switch of slurm'".
  const std::string& label() const { return label_; }

  /// Binds it to `path` (created, mode 0444), so that it outlives every process. The pin belongs to the caller's
  /// ledger; `unpin` takes it away. Errors: conflict when something is mounted at `path` already.
  void pin(const std::string& path) const;

  /// Runs `work` on a helper thread inside the namespace and waits; its exception comes out here.
  void run(const std::function<void()>& work) const;

 private:
  Namespace(int fd, std::string label) : fd_(fd), label_(std::move(label)) {}
  int fd_ = -1;
  std::string label_;
};

/// Unmounts and removes a pin; false when there was none. Idempotent.
bool unpin(const std::string& path);
/// Whether a namespace is mounted at `path` (a plain file left by a crash is none).
bool is_pinned(const std::string& path);

}  // namespace underway::net
