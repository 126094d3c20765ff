#pragma once
/// @file
/// A lock file that says who holds it. The kernel drops the lock with the process, so a stale file locks nothing.

#include <string>

namespace underway::store::detail {

class LockFile {
 public:
  /// Errors: conflict, naming the holding process, when another has it; else as open(2) fails.
  explicit LockFile(const std::string& path);
  ~LockFile();
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace underway::store::detail
