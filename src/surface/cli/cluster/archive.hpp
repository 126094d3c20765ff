#pragma once
/// @file
/// Writes an archive (.tar.gz) of a few files, in memory one file at a time.

#include <memory>
#include <string>
#include <string_view>

namespace underway::cli {

class ArchiveWriter {
 public:
  /// Throws when the file is there already, or cannot be made.
  explicit ArchiveWriter(const std::string& path);
  ~ArchiveWriter();
  void add(const std::string& name, std::string_view bytes);
  /// What was added is on disk when it returns.
  void close();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace underway::cli
