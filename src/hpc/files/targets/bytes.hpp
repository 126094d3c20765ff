#pragma once
/// @file
/// Bytes of files on a node's disk, of which there may be many: their digest, copies of them, and those that are on
/// their way from the server. Blocks: yes (disk).

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "os/fd.hpp"

namespace underway::files {

/// SHA-256, hexadecimal, from the file's beginning to its end. `what` names it in errors. Throws too_large beyond the
/// size that a synchronised file may have.
std::string file_digest(const os::Fd& fd, std::string_view what);
/// Copies `from`, from its beginning on, and returns the digest of what was copied.
std::string copy_bytes(const os::Fd& from, const os::Fd& to, std::string_view what);

/// Large files on their way into a target's directory. What came stays there over broken links and killed agents, and
/// the rest is fetched; what is whole is what its digest says.
class Incoming {
 public:
  explicit Incoming(std::string directory) : directory_(std::move(directory)) {}

  bool is_whole(const std::string& digest) const;
  /// How many bytes of it are here.
  std::int64_t received(const std::string& digest) const;
  /// `bytes` follow those that are here. Throws conflict when they do not.
  void append(const std::string& digest, std::int64_t offset, std::string_view bytes);
  /// All is here. Throws denied when it is not what its digest and size say; then it is gone.
  void finish(const std::string& digest, std::int64_t size);
  /// Moves what is whole.
  void move_to(const std::string& digest, const std::string& path) const;
  /// Whatever else is on its way is not wanted any more.
  void keep_only(const std::set<std::string>& digests) const;

 private:
  std::string whole(const std::string& digest) const { return directory_ + "/" + digest; }
  std::string part(const std::string& digest) const { return directory_ + "/" + digest + ".part"; }
  std::string directory_;
};

}  // namespace underway::files
