#pragma once
/// @file
/// Looking into a mounted image as a process in it would: its symbolic links are followed within it, never out of it.

#include <sys/stat.h>

#include <optional>
#include <string>
#include <vector>

#include "os/fd.hpp"

namespace underway::run {

class ImageRoot {
 public:
  explicit ImageRoot(const std::string& directory);

  /// The text of a file; nothing when there is none, or it is no plain file, or larger than a mebibyte.
  std::optional<std::string> find_file(const std::string& path) const;
  /// Names in a directory; none when there is no such directory.
  std::vector<std::string> list(const std::string& path) const;
  /// What `path` is, links followed; nothing when it does not exist.
  std::optional<struct stat> status(const std::string& path) const;
  /// `path` without links, as far as it exists: "/var/run/x" is "/run/x" where /var/run is a link.
  std::string resolve(const std::string& path) const;

 private:
  os::Fd open(const std::string& path, int flags) const;

  std::string directory_;
  os::Fd root_;
};

}  // namespace underway::run
