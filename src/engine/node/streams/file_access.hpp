#pragma once
/// @file
/// Files below a directory that tasks may write to: no name, link or `..` in it leads outside (openat2(2),
/// RESOLVE_BENEATH), whatever others rename meanwhile.

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.hpp"
#include "protocol/messages.hpp"

namespace underway::node {

class Beneath {
 public:
  /// Throws not_found when the directory does not exist.
  explicit Beneath(const std::string& root);

  const std::string& root() const { return root_; }
  /// `path` is relative to the root; leading slashes are ignored. O_CLOEXEC is added.
  /// Errors: denied when it would leave the root; not_found; …
  os::Fd open(std::string_view path, int flags, mode_t mode = 0) const;
  /// Makes missing parents of `path` (0755, `owner`) and returns its parent directory and last name.
  std::pair<os::Fd, std::string> open_parent(std::string_view path, std::optional<os::Owner> owner) const;
  /// Replaces the file by rename(2), with parents; a link there is replaced, never followed.
  void write(std::string_view path, std::string_view bytes, mode_t mode, std::optional<os::Owner> owner) const;
  std::optional<std::string> find(std::string_view path, std::size_t limit = 16U << 20) const;

 private:
  std::string root_;
  os::Fd directory_;
};

/// What an allocation shows of its files to people: everything but secrets and the agent's own directories.
class FileAccess {
 public:
  explicit FileAccess(const std::string& allocation_root) : beneath_(allocation_root) {}

  /// Blocks: yes (disk), all of these.
  std::vector<protocol::FileInfo> list(std::string_view path) const;
  protocol::FileInfo stat(std::string_view path) const;
  /// A regular file, open for reading. Errors: denied, not_found, invalid when it is none.
  os::Fd open(std::string_view path) const;

 private:
  Beneath beneath_;
};

/// Removes "." and "//" and resolves ".." by name; nothing when it leads above its start.
std::optional<std::string> normalise(std::string_view path);

}  // namespace underway::node
