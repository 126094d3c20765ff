#pragma once
/// @file
/// A file that a package installs.

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::archive {

enum class FileKind : std::uint8_t { regular, directory, symlink, hardlink };

struct File {
  std::string path;  ///< absolute: "/usr/bin/env"; of a source package of rpm a name alone: "bash.spec"
  FileKind kind = FileKind::regular;
  std::uint32_t mode = 0;    ///< permission bits, with setuid, setgid and sticky
  std::string owner, group;  ///< by name; a number where no name is written
  std::uint64_t size = 0;    ///< of regular files
  std::string target;        ///< of links, as written
  bool ghost = false;        ///< of rpm: belongs to the package, and is not in it
  bool operator==(const File&) const = default;
};

/// "/usr/bin/env" of "./usr/bin/env" or "usr/bin/env". Errors, which name the path and begin with that of the package:
/// denied for an absolute path, "..", control characters, and more than 4096 bytes.
std::string absolute(std::string_view relative, std::string_view package);
/// Throws the same unless `path` is absolute and clean: no "..", ".", double '/' or control characters.
void check_absolute(std::string_view path, std::string_view package);

}  // namespace underway::archive
