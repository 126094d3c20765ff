#pragma once
/// @file
/// Freezing a file system (FIFREEZE): what was written is on disk, and writers wait. A freeze must never outlive its
/// cause, or everything that writes there hangs for good: a small child process thaws when we die or take too long.

#include <functional>
#include <string>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace underway::overlay {

class Frozen {
 public:
  /// Freezes the file system that holds `path`. Errors: unsupported when it cannot be frozen.
  static Frozen file_system(const std::string& path, Duration limit);
  /// Writes out the file system of `path`, unless empty; stops the writers by `stop(true)`, thaws by `stop(false)`.
  static Frozen writers(std::function<void(bool)> stop, const std::string& path, Duration limit);

  Frozen(Frozen&& other) noexcept;
  Frozen& operator=(Frozen&& other) noexcept;
  /// Thaws.
  ~Frozen();

  /// How long writers have waited. Errors: timeout when `limit` had passed: writers went on meanwhile, so what was
  /// read since is not consistent.
  Duration thaw();

 private:
  Frozen() = default;
  bool let_go();

  os::Fd file_;
  os::Fd guard_;  ///< our end of the way to the child
  int guard_pid_ = -1;
  std::function<void(bool)> stop_;
  std::chrono::steady_clock::time_point since_, until_;
  Duration limit_{};
};

}  // namespace underway::overlay
