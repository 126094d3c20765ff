#pragma once
/// @file
/// What an overlay's upper layer holds that differs from the image below. Looks at metadata only.
/// Source: Documentation/filesystems/overlayfs.rst of the kernel (whiteouts, opaque directories, redirects, metacopy).

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::overlay {

enum class ChangeKind {
  added,     ///< the image has nothing there
  modified,  ///< content or metadata differ from the image's
  deleted,   ///< the image's is hidden by a whiteout
  replaced,  ///< an opaque directory: all that the image has below it is hidden
};
const describe::Enumeration& description(describe::Tag<ChangeKind>);

struct Change {
  std::string path;  ///< as seen in the capsule: "/etc/passwd"
  ChangeKind kind = ChangeKind::added;
  /// "file", "directory", "link", "fifo", "socket", "device"; empty when deleted.
  std::string type;
  std::uint64_t size_bytes = 0;  ///< of a file
  mode_t mode = 0;               ///< permission bits
  uid_t uid = 0;
  gid_t gid = 0;
  std::int64_t modified_ns = 0;  ///< mtime since the epoch
  /// Where a renamed directory was in the image (redirect_dir); empty otherwise.
  std::string from;
  bool operator==(const Change&) const = default;
};

/// What the image has at a path ("etc/passwd"); nothing when it has nothing there.
struct Below {
  mode_t mode = 0;  ///< with the type's bits
  uid_t uid = 0;
  gid_t gid = 0;
};
using FindBelow = std::function<std::optional<Below>(const std::string& path)>;
/// From an image that is mounted at `root`.
FindBelow below_directory(const std::string& root);

/// In order of paths. A directory that stands there only because of what it holds is left out.
///
/// Without `below` the marks of overlayfs tell (trusted.overlay.origin and opaque): what was copied up is modified, the
/// rest added; a new directory and one that replaces one of the image's look alike (added), and a directory of which
/// only owner or mode changed is left out. Needs CAP_SYS_ADMIN to see the marks.
std::vector<Change> changes(const std::string& upper, const FindBelow& below = {});

}  // namespace underway::overlay
