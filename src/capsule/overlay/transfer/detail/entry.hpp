#pragma once
/// @file
/// What a copy knows of each path of a tree, and all of it together (Index): what sender and receiver compare.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace underway::overlay {

/// Files are compared and sent in blocks of this size: two of InnoDB's pages.
inline constexpr std::uint64_t kBlockSize = 32768;

/// SHA-256 of a block; all zero: the block is.
using BlockDigest = std::array<char, 32>;
BlockDigest digest_block(std::string_view bytes);
inline std::uint64_t blocks_of(std::uint64_t size) { return (size + kBlockSize - 1) / kBlockSize; }

enum class EntryType : std::uint8_t { directory = 'd', file = 'f', link = 'l', hard_link = 'h', whiteout = 'w' };

struct Entry {
  std::string path;  ///< below the root, no slash at either end; empty: the root
  EntryType type = EntryType::file;
  std::uint32_t mode = 0;  ///< permission bits
  std::uint32_t uid = 0, gid = 0;
  std::int64_t modified_ns = 0;
  std::uint64_t size = 0;                                       ///< of a file
  std::string target;                                           ///< of a link; of a hard link the path of its file
  std::vector<std::pair<std::string, std::string>> attributes;  ///< by name
  /// Of the source's file when it was read. Its content cannot have changed while both stay, if `settled`.
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;
  bool settled = false;
  std::vector<BlockDigest> blocks;  ///< of a file
};

/// All that a capsule sees of it is equal, content aside.
bool alike(const Entry& a, const Entry& b);
/// Whether an attribute is copied.
bool is_carried(std::string_view attribute);

struct IndexLimits {
  std::uint64_t paths = ~std::uint64_t{0};
  std::uint64_t content_bytes = ~std::uint64_t{0};
  /// Of a tree that a break has left half done: the file of a hard link may be missing.
  bool half_done = false;
};

/// A tree as it is described. Every change is checked: names, parents, offsets. Errors: invalid, too_large.
class Index {
 public:
  using Map = std::map<std::string, Entry, std::less<>>;

  explicit Index(IndexLimits limits = {}) : limits_(limits) {}
  const Map& entries() const { return entries_; }
  const Entry* find(std::string_view path) const;

  /// `fresh`: nothing of a file that was there counts. Otherwise its blocks stay, as far as it reaches.
  Entry& put(Entry entry, bool fresh);
  void remove(const std::string& path);
  /// `bytes` from `offset` on: whole blocks, or up to the end.
  void write(Entry& file, std::uint64_t offset, std::string_view bytes) const;
  void zero(Entry& file, std::uint64_t offset, std::uint64_t length) const;

  std::uint64_t content_bytes() const { return content_bytes_; }
  /// Of everything but `inode`, `changed_ns`, `settled`; 32 bytes.
  std::string digest() const;

 private:
  void check(const Entry& entry) const;
  void remove_below(const std::string& path);
  Map entries_;
  std::uint64_t content_bytes_ = 0;
  IndexLimits limits_;
};

}  // namespace underway::overlay
