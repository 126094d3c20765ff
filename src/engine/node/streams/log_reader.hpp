#pragma once
/// @file
/// A task's log as one stream of bytes, although its keeper rotates it: <task>.<type>.0, .1, …, the highest the newest.

#include <string>
#include <string_view>
#include <vector>

#include "os/fd.hpp"

namespace underway::node {

class LogReader {
 public:
  /// `directory` is the allocation's `alloc/logs`. `offset` counts from the start of what is kept, or back from its
  /// end. A log that does not exist yet is empty. Errors: invalid for an unknown `type` or `origin`.
  LogReader(std::string directory, std::string_view task, std::string_view type, std::string_view origin,
            std::int64_t offset);

  /// Whether there is one. Blocks: yes (disk).
  static bool any(const std::string& directory, std::string_view task, std::string_view type);

  /// The next bytes; empty at the present end. A file that was rotated away before it was read is skipped.
  /// Blocks: yes (disk).
  std::string read(std::size_t most);
  /// What to watch for more (inotify(7)).
  const std::string& directory() const { return directory_; }

 private:
  std::string path(std::int64_t number) const;
  static std::vector<std::int64_t> numbers(const std::string& directory, const std::string& prefix);
  bool open_next();

  std::string directory_;
  std::string prefix_;
  std::int64_t number_ = -1;  ///< of the open file; -1: none yet
  os::Fd file_;
};

}  // namespace underway::node
