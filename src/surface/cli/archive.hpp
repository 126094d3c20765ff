#pragma once
/// @file
/// Archives (.tar.gz) of a few files, in memory one file at a time.

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace underway::cli {

struct ArchivedFile {
  std::string name;
  std::int64_t size = 0;
  std::time_t changed = 0;
};

/// Calls `file` for each of the archive, with a reader of its bytes: it may be called until it returns "".
/// Throws invalid for what is no archive, or is cut short.
void read_archive(const std::string& path,
                  const std::function<void(const ArchivedFile&, const std::function<std::string()>&)>& file);

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
