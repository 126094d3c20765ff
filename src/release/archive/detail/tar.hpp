#pragma once
/// @file
/// The tar archives in a package, entry by entry, by libarchive.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "archive/file.hpp"
#include "os/fd.hpp"

struct archive;  // of libarchive

namespace underway::archive::detail {

/// Bytes of an open file.
struct Range {
  std::uint64_t begin = 0, size = 0;
};

struct TarLimits {
  std::uint64_t entries = 0, bytes = 0;
};

class TarEntry {
 public:
  TarEntry(::archive* reader, File& file, std::string_view package) : reader_(reader), file_(file), package_(package) {}
  File& file() const { return file_; }
  /// What is in it. Throws invalid when it is damaged.
  std::string read() const;

 private:
  ::archive* reader_;
  File& file_;
  std::string_view package_;
};

/// Calls `each` for the entries of the tar archive in `range` of `file`, which is compressed as `suffix` says: "",
/// ".gz",
/// ".xz", ".zst", ".bz2", ".lzma". `package` is for errors: denied for what is no file, directory or link, and for
/// names that file.hpp refuses; invalid when it is damaged; too_large beyond `limits`.
void each_entry(const os::Fd& file, Range range, std::string_view suffix, std::string_view package,
                const TarLimits& limits, const std::function<void(const TarEntry&)>& each);

}  // namespace underway::archive::detail
