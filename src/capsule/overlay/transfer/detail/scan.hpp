#pragma once
/// @file
/// Reading a tree: what its paths are (fast), and the blocks of a file.

#include <vector>

#include "base/clock.hpp"
#include "overlay/detail/tree.hpp"
#include "overlay/transfer/detail/entry.hpp"

namespace underway::overlay {

/// What look_at() says, path by path.
class Look {
 public:
  void add(const Tree::Item& item);
  std::string text() const;

 private:
  std::string seen_;
};

struct Scan {
  std::vector<Entry> entries;  ///< by path; files without blocks
  std::uint64_t left_out = 0;  ///< fifos, sockets, devices
  std::string look;            ///< what look_at() would have said
};
struct ScanOptions {
  bool sync = false;             ///< write it out first. Without, nobody may write.
  bool quick = false;            ///< times count on tmpfs, too
  const Index* known = nullptr;  ///< of an earlier one: what has not changed is not asked for its attributes
};
/// `began`: everything that was written before is on its way to the disk. A file that changed later is not settled:
/// writes through a mapping change no time after the first.
Scan scan(const Tree& tree, ScanOptions options);

/// A file while its blocks are read.
class FileReader {
 public:
  FileReader(os::Fd file, std::uint64_t size) : file_(std::move(file)), size_(size) {}

  struct Piece {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;
    std::string_view bytes;  ///< good until the next; empty: a hole
  };
  /// Whole blocks, or up to the end; a few at a time. Nothing at the end. What a file has lost meanwhile reads as
  /// zeros.
  std::optional<Piece> next();
  /// Now.
  struct stat look() const;

 private:
  os::Fd file_;
  std::uint64_t size_;
  std::uint64_t at_ = 0;
  std::uint64_t data_begin_ = 0, data_end_ = 0;
  std::string buffer_;
};
/// Nothing when it is no file any more.
std::optional<FileReader> open_reader(const Tree& tree, const Entry& entry);

/// Everything with its digests, which is what an index that was lost would say.
Index read_index(const std::string& root);

std::int64_t nanos(const struct timespec& time);

}  // namespace underway::overlay
