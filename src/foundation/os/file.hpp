#pragma once
/// @file
/// Files and directories: durable writes, bounded reads, trees that are made and removed without leaving their root,
/// and locks that can say who holds them.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"

namespace underway::os {

struct Owner {
  uid_t uid = 0;
  gid_t gid = 0;
  bool operator==(const Owner&) const = default;
};

/// The whole file; throws not_found, or too_large beyond `limit` bytes.
/// Bytes of what `file` has open; `path` is for the error.
std::int64_t size_of(const Fd& file, const std::string& path);
std::string read_file(const std::string& path, std::size_t limit = 16U << 20);
/// As read_file, but nothing when the file does not exist.
std::optional<std::string> find_file(const std::string& path, std::size_t limit = 16U << 20);

enum class Durability {
  flushed,  ///< file and directory are fsynced: survives power loss
  cached,   ///< survives the death of this process only
};
/// Replaces `path` by a temporary file and rename(2): a reader sees the old or the new text, never a part.
/// The temporary lies in the same directory and is removed on failure. Mode and owner are set before the rename.
void write_file(const std::string& path, std::string_view bytes, mode_t mode = 0644, std::optional<Owner> owner = {},
                Durability durability = Durability::flushed);

/// Makes `path` and its missing parents. Only directories that this call makes get `mode` and `owner`.
void make_directories(const std::string& path, mode_t mode = 0755, std::optional<Owner> owner = {});

struct DirectoryEntry {
  std::string name;
  /// A d_type of readdir(3): DT_DIR, DT_REG, DT_LNK, … (never DT_UNKNOWN).
  unsigned char type = 0;
};
/// Entries without "." and "..", sorted by name.
std::vector<DirectoryEntry> list_directory(const std::string& path);

/// Removes `path` and everything below it. Follows no symbolic link, crosses into no other file system (a mount below
/// is left as it is and reported as conflict), and never leaves the tree although others rename within it (openat).
/// Nothing happens when `path` does not exist.
void remove_tree(const std::string& path);

bool exists(const std::string& path);

/// The clock by which the kernel stamps files (CLOCK_REALTIME), whatever clock decisions go by: for moments that are
/// compared with those of files, or tell which state of a file system a copy holds.
TimePoint file_clock_now();

/// A lock that one process holds (flock(2)); the file tells who. Released by the destructor, at once even while a child
/// that is about to execute its program still has a copy, and by the holder's death.
class FileLock {
 public:
  /// `holder` describes us to others, e.g. "underway up examples/slurm".
  /// Errors: conflict, naming the present holder: "held by pid 4711 (underway up examples/slurm)".
  static FileLock acquire(const std::string& path, std::string_view holder);
  /// Nothing when somebody else holds it.
  static std::optional<FileLock> try_acquire(const std::string& path, std::string_view holder);
  /// What the present holder wrote: "pid 4711 (underway up …)"; empty when nobody holds it.
  static std::string holder_of(const std::string& path);

  FileLock(FileLock&&) noexcept = default;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock() { release(); }
  const std::string& path() const { return path_; }

 private:
  FileLock(Fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  void release() noexcept;
  Fd fd_;
  std::string path_;
};

}  // namespace underway::os
