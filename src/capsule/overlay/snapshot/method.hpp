#pragma once
/// @file
/// What a snapshot of an overlay costs: see SnapshotMethod.

#include <cstdint>

#include "overlay/snapshot/snapshot.hpp"

namespace underway::overlay {

/// How it would be taken of the overlay in `dir`, which needs not be open; nothing when there is none. Where it cannot
/// be tried whether files can be cloned they cannot.
std::optional<SnapshotMethod> find_method(const std::string& dir);

/// That all below a directory takes on its disk; a hole takes nothing, nor does what vanishes meanwhile. Crosses into
/// no other file system. Errors: not_found, and when something cannot be read. Blocks: yes (disk).
std::uint64_t disk_bytes(const std::string& directory);

}  // namespace underway::overlay
