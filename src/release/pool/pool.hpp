#pragma once
/// @file
/// Files by their digests, each once, however many lists name it:
///
///     sha256/ab/<hex>           whole files, read-only; nothing gets such a name that was not verified
///     incoming/<hex>-<size>     what has arrived of one that is on its way; goes on after any crash where it ended
///     incoming/add-<random>     what is being added
///     damaged/<hex>.<n>         what fsck found to be other bytes than its name says; nobody removes it but people
///
/// A file is flushed to disk before it gets its name, and the name before anybody relies on it, so a crash at any
/// moment leaves whole files, and parts below `incoming` which `collect` removes in its time. Every call may come from
/// any thread and any process, all of the same user.
///
/// **Collecting beside others.** What nobody refers to is removed; who is about to refer to a file must not lose it
/// between seeing it and saying so. The rule: *hold* every file (adding it holds it too), and have it referred to
/// within the grace; if that took longer, hold again before. Who collects takes `now` first, then reads what is in use,
/// then calls `collect`. Then nothing is lost: a file that is removed was held last at some H with H + grace <= now,
/// and whoever held it then has either referred to it before `now`, so that the list of what is in use has it, or has
/// to hold it again, and is told that it is gone. The time of the last hold is the inode's ctime, which the kernel
/// keeps: changing the mode to what it was sets it, and leaves alone the date and the ETag under which a web server
/// shows hard links of the same file. Adding, holding and removing one exclude each other by flock(2) on the directory
/// of its first two digits, for microseconds, or for one flush of a new name.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "os/fd.hpp"
#include "pool/digest.hpp"
#include "pool/incoming.hpp"

namespace underway::pool {

struct Added {
  Digest digest{};
  std::uint64_t size = 0;  ///< bytes
  bool is_new = false;     ///< false: it was there, and is held
};

/// How a file comes into the pool.
enum class Take {
  copy,  ///< its bytes, which are shared where the file system can (FICLONE)
  link,  ///< the file itself, if it is the caller's and on the same file system; else as copy. It becomes read-only,
         ///< and nobody may write to it again, under whatever name: what has it open for writing is not found out here.
};

struct Freed {
  std::vector<Digest> files;
  std::size_t parts = 0;    ///< of files that nobody went on with
  std::uint64_t bytes = 0;  ///< that are free now: files with further hard links are not counted
};

/// What fsck moved away.
struct Damage {
  std::string name;         ///< below sha256: "ab/ab01…"
  std::string reason;       ///< "its bytes have the digest …"
  std::string moved_to;     ///< path; empty when it could not be moved, and `reason` says why
  std::uint64_t links = 0;  ///< further hard links, which have the same bytes: trees that have to be made anew
};
struct Findings {
  std::uint64_t files = 0, bytes = 0;  ///< that were read
  std::vector<Damage> damages;
  bool complete = false;  ///< false: stopped by the caller
};

class Pool {
 public:
  /// Makes the directory. Errors: as mkdir(2).
  explicit Pool(std::string directory, Limits limits = {});

  const std::string& directory() const;
  /// Of a file that is there or not, for programs that take paths.
  std::string path_of(const Digest& digest) const;

  /// One system call (63,000 of them: 0.2 s). It may be collected right after: see hold.
  bool has(const Digest& digest) const { return size(digest).has_value(); }
  /// Bytes; nothing when it is not there.
  std::optional<std::uint64_t> size(const Digest& digest) const;
  /// Whether it is there; then `collect` leaves it for its grace from now on, and its name survives a crash.
  bool hold(const Digest& digest) const;
  /// Which of them are not there; the others are held. One lock for each run of digests with the same first byte, so
  /// sort them.
  std::vector<Digest> hold(std::span<const Digest> digests) const;

  /// For reading; who has it open keeps it. Errors: not_found.
  os::Fd open(const Digest& digest) const;

  /// Errors: too_large; exhausted when less than the reserve would be left, or there is no space; then nothing is left
  /// of it. Blocks: yes (flushes).
  Added add_bytes(std::string_view bytes) const;
  /// The same of a file. What is written to it meanwhile may be in it or not: the digest is of what was taken.
  Added add_file(const std::string& path, Take how = Take::copy) const;
  /// Begins or goes on with what comes piece by piece. Errors: conflict when another one is at it; too_large;
  /// exhausted.
  Incoming receive(const Wanted& wanted) const;

  /// Gives the file a further name, `relative` to `root`, which must be there; missing directories are made. A hard
  /// link, or a copy where that cannot be (another file system, too many links). The same file under that name is left.
  /// Nothing is flushed: a tree of many is flushed as a whole, by syncfs(2), before it is used.
  /// Errors: not_found; conflict when another file has the name; invalid for a name that leaves `root` or has control
  /// characters.
  void link_into(const Digest& digest, const std::string& root, std::string_view relative) const;

  /// Removes the files that are not in `in_use` and were not held for `grace` before `now`, and parts that nobody went
  /// on with for as long. `in_use` is sorted. `now` is of the clock of files (os::file_clock_now), taken before
  /// `in_use` was read. Errors: internal when `in_use` is not sorted: nothing is removed then. Blocks: yes.
  Freed collect(std::span<const Digest> in_use, Duration grace, TimePoint now) const;

  /// Called after each file; false stops.
  using Progress = std::function<bool(const Findings& so_far)>;
  /// Reads every file and moves away what is not what its name says, or cannot be read. Others may use the pool
  /// meanwhile.
  Findings fsck(const Progress& progress = {}) const;

 private:
  std::shared_ptr<const detail::Place> place_;
};

}  // namespace underway::pool
