#pragma once
/// @file
/// Archives unpacked into a tree. What is in them comes from anybody: names with "..", absolute names and device nodes
/// are refused, links are followed within the tree only, and what it may grow to is limited.

#include <cstdint>
#include <set>
#include <string>

#include "imagebuild/detail/root.hpp"
#include "os/fd.hpp"

namespace underway::imagebuild {

/// What all archives of one image may unpack to together.
struct Allowance {
  std::int64_t bytes = std::int64_t{32} << 30;
  std::int64_t entries = 4'000'000;
};

struct UnpackOptions {
  std::int64_t strip = 0;  ///< leading directories dropped from names; what has no more is left out
  bool layer = false;      ///< of OCI: ".wh." names remove what lies below
  bool owners = true;      ///< files get the owners and attributes they have in the archive; needs root
};

/// Unpacks a tar archive (plain, gzip, bzip2, xz, zstd), from where `file` stands. Device nodes below dev/ are left
/// out: every capsule gets its own. `allowance` is charged. `name` is for errors. Errors: denied naming the entry;
/// too_large; invalid when it is damaged. Blocks: yes.
void unpack(const os::Fd& file, const std::string& name, const Root& root, const UnpackOptions& options,
            Allowance& allowance);

}  // namespace underway::imagebuild
