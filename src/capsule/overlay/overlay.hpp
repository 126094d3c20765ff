#pragma once
/// @file
/// The writable layer over an image. An overlay has a directory of its own; there lies a record of what it is, and
/// either the layer itself (Kind::directory) or the mount point of a file system in a file:
///
///     <dir>/overlay.json                    what this overlay is
///     <dir>/upper, <dir>/work               Kind::directory
///     <dir>/overlay.img, <dir>/mnt          the others; Spec::paths may put the file elsewhere
///
/// What it holds is the user's: no crash, undo or failed call takes it away; only remove_overlay does. A mount that a
/// crash leaves behind is in the ledger (kind "mount") and is adopted by the next open_overlay. Loop devices go with
/// the mount that uses them (LO_FLAGS_AUTOCLEAR).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json/describe.hpp"
#include "os/ledger.hpp"
#include "overlay/freeze.hpp"

namespace underway::overlay {

enum class Kind {
  directory,  ///< a directory of the host: no limit of its own, a snapshot is a copy
  ext4,       ///< a file with ext4
  xfs,        ///< a file with xfs
  btrfs,      ///< a file with btrfs: checksums, snapshots at no cost
  raid1,      ///< btrfs raid1 over two files on two file systems: one may be lost
};
const describe::Enumeration& description(describe::Tag<Kind>);

struct Spec {
  Kind kind = Kind::directory;
  /// Of the file system; of each of the two files with raid1. A directory has no limit.
  std::uint64_t size_bytes = std::uint64_t{1} << 30;
  /// Directories that hold the file, absolute. raid1: two, on two file systems. Others: none (the overlay's own
  /// directory) or one. Kind::directory: none.
  std::vector<std::string> paths;
};
/// Everything that is wrong with `spec`, each a sentence; looks at no disk.
std::vector<std::string> problems(const Spec& spec);
/// The smallest size that the kind's file system can be made with.
std::uint64_t smallest(Kind kind);

struct Options {
  /// Told of the mount before the kernel is. May be null: then a crash leaves the mount until the next open_overlay.
  os::Ledger* ledger = nullptr;
  /// Owner in the ledger and in the names of files that lie elsewhere, e.g. "default/slurm-services".
  std::string owner;
  /// Stops (true) and continues (false) everything that writes to the overlay: what stands in for a freeze of the file
  /// system with Kind::directory. Whoever gives it lets go of the writers after a crash of this process.
  std::function<void(bool)> stop_writers;
};

struct Space {
  std::uint64_t size_bytes = 0;
  std::uint64_t free_bytes = 0;
};

/// What a scrub of raid1 found: every block read and compared with its checksum.
struct Scrubbed {
  std::uint64_t checked_bytes = 0;
  std::uint64_t mended = 0;    ///< errors mended from the other file
  std::uint64_t unmended = 0;  ///< errors in both files: what they held is lost
};

/// An overlay that can be written to. The destructor unmounts lazily unless released.
class Mounted {
 public:
  Mounted(Mounted&&) noexcept;
  Mounted& operator=(Mounted&&) noexcept;
  ~Mounted();

  Kind kind() const;
  const std::string& dir() const;
  /// As it was opened.
  const Options& options() const;
  /// For overlayfs. Both lie in layer(), the directory that a snapshot takes.
  std::string upper() const;
  std::string work() const;
  std::string layer() const;
  /// Where its file system is mounted; dir() with Kind::directory.
  std::string root() const;
  /// The files it lies in; none with Kind::directory.
  const std::vector<std::string>& files() const;
  /// What the operator should be told, loudly: a lost file of raid1, a limit that is not enforced.
  const std::vector<std::string>& warnings() const;
  /// One file of raid1 is lost: the next loss loses the overlay.
  bool degraded() const;
  Space space() const;

  /// Everything written so far is on disk, and writers wait until the result is thawed or dropped, this process dies,
  /// or `limit` passes.
  Frozen freeze(Duration limit = std::chrono::seconds{20});

  /// btrfs and raid1: reads everything, mends what the other file still has. Errors: unsupported for other kinds.
  /// Blocks: as long as the disk takes.
  Scrubbed scrub();
  /// raid1: puts a fresh file in the place of the lost one and fills it. Nothing happens when none is lost.
  void repair();

  /// Errors: conflict while something uses it.
  void close();
  /// Leaves it mounted, for the next open_overlay to adopt.
  void release() noexcept;

  struct State;
  explicit Mounted(std::unique_ptr<State> state);

 private:
  std::unique_ptr<State> state_;
};

/// Opens the overlay in `dir`; creates it if there is none, grows it if `spec` asks for more than it has.
///
/// Errors: invalid (`problems`), conflict (another kind, or a smaller size than it has: an overlay never shrinks),
/// exhausted (no space, no loop device), internal (the file system is damaged, with the next step). A file of raid1
/// that is lost is no error: the result is degraded.
Mounted open_overlay(const Spec& spec, const std::string& dir, const Options& options = {});

/// What lies in `dir`, without opening it; nothing when no overlay was ever made there.
std::optional<Spec> find_overlay(const std::string& dir);

/// How full it is, without opening it; of a directory: its disk. Nothing when there is none, or it is not mounted.
std::optional<Space> find_space(const std::string& dir);

/// Unmounts it and removes it with all it holds. Nothing happens where there is none.
void remove_overlay(const std::string& dir);

}  // namespace underway::overlay
