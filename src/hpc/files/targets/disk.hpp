#pragma once
/// @file
/// Looking at files and putting them, beneath a directory that is never left: no symbolic link on the way is followed,
/// each step is taken from the directory before it. A file is replaced by rename(2) of a complete one in the same
/// directory, so whoever reads sees the old or the new bytes. Blocks: yes (disk).

#include <sys/stat.h>

#include "files/targets/plan.hpp"
#include "files/targets/target.hpp"
#include "os/mount.hpp"

namespace underway::files {

/// By which a file is known not to have been touched since it was read.
struct Stamp {
  std::int64_t inode = 0, size = 0, mtime = 0, ctime = 0;  ///< times in ns
  std::string digest;                                      ///< of what it held

  /// Whether it is still the same, but for the digest.
  bool fits(const struct stat& status) const;
};

/// Of a file that has just been examined and read.
Stamp stamp_of(const struct stat& status, std::string digest);

/// One visit to a target's tree.
class TargetTree {
 public:
  /// Throws what keeps the tree from being opened.
  explicit TargetTree(const FileTarget& target);

  /// `known`: not read again when it still fits. Never throws Error: what is wrong is in the result.
  Look look(const ManifestEntry& entry, const Stamp* known = nullptr) const;
  /// Of the file as it is now; nothing when there is none, or when it was changed so lately that another change may
  /// have the same times (as git does of its index, "racy git").
  std::optional<Stamp> stamp(const ManifestEntry& entry) const;
  /// Makes it as the change says. `bytes`: a file with those of one that is created or replaced.
  /// Errors: denied (a link on the way, with the real path; an owner that nobody knows), conflict (a file that is
  /// mounted there; a directory that is not empty; bytes that are not the entry's), exhausted, and others of the disk.
  void make(const Change& change, const os::Fd& bytes);
  /// A regular file, to be read; nothing when there is none. Throws as make.
  std::optional<os::Fd> open_regular(const std::string& path) const;
  /// Its bytes, likewise; too_large beyond `limit`.
  std::optional<std::string> read(const std::string& path, std::size_t limit) const;
  /// "root", or the number when nobody has that name.
  std::string user_name(std::int64_t uid) const;
  std::string group_name(std::int64_t gid) const;

 private:
  struct Place {
    os::Fd directory;  ///< O_PATH
    std::string name;  ///< in it
  };
  std::optional<Place> find(const std::string& path) const;
  Place open(const std::string& path) const;
  os::Fd step(const os::Fd& from, const std::string& name, const std::string& path, std::size_t end, bool make) const;
  Observed observe(const ManifestEntry& entry, const Stamp* known) const;
  Ids ids_of(const ManifestEntry& entry) const;
  void refuse_mounts(const std::string& path) const;
  void put_file(const ManifestEntry& entry, const os::Fd& bytes) const;
  void put_link(const ManifestEntry& entry) const;
  void put_directory(const ManifestEntry& entry) const;
  void adjust(const ManifestEntry& entry) const;
  void remove(const ManifestEntry& entry) const;
  void set_metadata(const os::Fd& fd, const ManifestEntry& entry) const;
  std::pair<std::int64_t, std::int64_t> owners(const ManifestEntry& entry) const;
  void read_names() const;

  const FileTarget& target_;
  os::Fd root_;
  std::vector<os::MountPoint> mounts_;
  mutable bool names_read_ = false;
  mutable std::map<std::string, std::int64_t> users_, groups_;
};

const describe::Structure& description(describe::Tag<Stamp>);

}  // namespace underway::files
