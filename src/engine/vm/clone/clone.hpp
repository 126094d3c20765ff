#pragma once
/// @file
/// A machine that begins as another was at a checkpoint, and is somebody else from then on:
///
///   clone.json      where it comes from. What is there without it is half made, and made again
///   identity.json   who it is to be, until its guest has been told (identity.hpp)
///
/// Its disks are copies of what the checkpoint's were, over the same images; its memory is the checkpoint's own file
/// where both directories are in one file system.

#include <string>
#include <vector>

#include "base/json/describe.hpp"
#include "vm/machine/machine_spec.hpp"

namespace underway::vm {

struct CloneRequest {
  std::string source;      ///< directory of the machine that has the checkpoint
  std::string checkpoint;  ///< its id; empty: the newest
  std::string directory;   ///< of the clone
  MachineSpec machine;     ///< the clone
  /// Path of a writable disk to the image that it is a layer over; empty: over none.
  std::vector<std::pair<std::string, std::string>> bases;
  std::string hostname;
  std::vector<std::string> addresses;
};

/// Where a clone comes from.
struct Origin {
  std::string source, checkpoint;
};
const describe::Structure& description(describe::Tag<Origin>);
/// Of a machine that is a clone, and whole.
std::optional<Origin> find_origin(const std::string& directory);

/// The machine sleeps afterwards: start goes on from there. Nothing happens when it is made already. Errors: not_found
/// (no such checkpoint), conflict (another kind of machine; somebody does something to the source at the moment).
/// Blocks: yes, for a copy of the disks.
void make_clone(const CloneRequest& request);

}  // namespace underway::vm
