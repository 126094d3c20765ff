#pragma once
/// @file
/// The whole state in one file, and back. A snapshot (snapshot/archive.hpp) holds every key of the store as of one
/// revision, and the root keys of the keyring as they lie on disk, wrapped: what is sealed stays sealed, and can be
/// opened again only by a server that has the wrapping key. It does not hold the wrapping key, the certificate
/// authority, images and other contents of the data directory, or the audit log.
///
/// A restoration replaces the state in one commit whose revision is newer than any before: who waits is woken, nodes
/// link anew and are told what they shall run. Killed in the middle, a server has the old state or the new one.

#include <memory>
#include <string>

#include "model/job/placement.hpp"
#include "snapshot/archive.hpp"

namespace underway::server {

/// The directory of such files; what an earlier process left in it is removed.
class SnapshotPlace {
 public:
  /// `directory` empty: a temporary one, made when it is needed.
  explicit SnapshotPlace(std::string directory);
  ~SnapshotPlace();
  SnapshotPlace(const SnapshotPlace&) = delete;
  SnapshotPlace& operator=(const SnapshotPlace&) = delete;
  /// A new name in it. Throws what the disk throws.
  std::string new_path(const std::string& what);

 private:
  std::string directory_;
  bool temporary_ = false;
  std::uint64_t made_ = 0;
};

class SnapshotFile {
 public:
  SnapshotFile(std::shared_ptr<SnapshotPlace> place, const std::string& what)
      : place_(std::move(place)), path_(place_->new_path(what)) {}
  ~SnapshotFile();
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::shared_ptr<SnapshotPlace> place_;
  std::string path_;
};

struct SavedSnapshot {
  std::shared_ptr<SnapshotFile> file;
  snapshot::Metadata metadata;
  snapshot::Packed packed;
};

struct RestoredSnapshot {
  snapshot::Metadata metadata;
  std::int64_t revision = 0;  ///< of the restored state
};

}  // namespace underway::server
