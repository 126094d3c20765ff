#pragma once
/// @file
/// The files of an image: type, mode, owner, size and digest of each, so that images can be compared without mounting.

#include "base/json/describe.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace underway::image {

enum class FileKind : std::uint8_t { regular, directory, symlink, character, block, fifo, socket };

struct FileEntry {
  std::string path;  ///< absolute; "/" is the root itself
  FileKind kind = FileKind::regular;
  std::int64_t mode = 0;  ///< permission bits, with setuid, setgid and sticky
  std::int64_t uid = 0, gid = 0;
  std::int64_t size = 0;                          ///< of regular files
  std::string digest;                             ///< of regular files: SHA-256, hexadecimal
  std::string target;                             ///< of symbolic links
  std::int64_t device = 0;                        ///< of device nodes: major * 2^20 + minor
  std::map<std::string, std::string> attributes;  ///< extended ones, in base64
};

const describe::Enumeration& description(describe::Tag<FileKind>);
const describe::Structure& description(describe::Tag<FileEntry>);

/// Every file below `directory`, by path. Follows no link. Errors: invalid for a name that is not UTF-8, which JSON
/// cannot hold. Blocks: yes (reads every file).
std::vector<FileEntry> list_files(const std::string& directory);

std::string write_file_list(const std::vector<FileEntry>& files);
/// Throws Error(invalid).
std::vector<FileEntry> parse_file_list(std::string_view text);

}  // namespace underway::image
