#pragma once
/// @file
/// Archives unpacked into a tree. What is in them comes from anybody: names with "..", absolute names and device nodes
/// are refused, links are followed within the tree only, and what it may grow to is limited.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "oci/root.hpp"
#include "os/fd.hpp"

namespace underway::oci {

/// What all archives of one image may unpack to together.
struct Allowance {
  std::int64_t bytes = std::int64_t{32} << 30;
  std::int64_t entries = 4'000'000;
};

/// What ".wh." names, by which a layer hides what lies below it, become (OCI image specification, layer.md).
enum class Whiteouts {
  none,     ///< files like others
  applied,  ///< what they hide is removed: the tree holds the layers below as well
  overlay,  ///< what overlayfs wants in a lower directory: devices 0:0, and trusted.overlay.opaque. Needs root
};

struct UnpackOptions {
  std::int64_t strip = 0;  ///< leading directories dropped from names; what has no more is left out
  Whiteouts whiteouts = Whiteouts::none;
  bool owners = true;  ///< files get the owners and attributes they have in the archive; needs root
  bool times = false;  ///< and the dates
  /// What a container's file system has: FIFOs are made, and device nodes are left out wherever they are, for the
  /// runtime gives a container its own and one of an image would open the node's hardware. Otherwise both are refused,
  /// but for devices below dev/.
  bool container = false;
  /// Filled in, if there is one: directories that entries lie in and that have none themselves, highest first.
  std::vector<std::string>* implied = nullptr;
};

/// Unpacks a tar archive (plain, gzip, bzip2, xz, zstd), from where `file` stands. Of attributes, security.capability
/// and user.* are taken. `allowance` is charged. `name` is for errors. Errors: denied naming the entry; too_large;
/// invalid when it is damaged. Blocks: yes.
void unpack(const os::Fd& file, const std::string& name, const Root& root, const UnpackOptions& options,
            Allowance& allowance);

/// The same for a plain archive that comes in pieces: `next` gives the following one, and an empty one at the end. What
/// follows the archive's end is not asked for.
void unpack(const std::function<std::string_view()>& next, const std::string& name, const Root& root,
            const UnpackOptions& options, Allowance& allowance);

}  // namespace underway::oci
