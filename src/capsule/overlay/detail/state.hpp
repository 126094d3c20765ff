#pragma once
/// @file
/// What an open overlay consists of; shared by the files that implement Mounted.

#include "overlay/detail/record.hpp"

namespace underway::overlay {

struct Mounted::State {
  std::string dir;
  Record record;
  Options options;
  std::string root;
  std::vector<std::string> warnings;
  /// Whether leaving it means to unmount it.
  bool ours = false;

  State() = default;
  State(const State&) = delete;
  /// Unmounts lazily what is ours.
  ~State();
  std::string layer() const;
  std::string device(std::size_t file) const;
};

/// Makes `path` a subvolume of btrfs unless it exists.
void make_subvolume(const std::string& directory, const std::string& name);
/// ext4 that nobody has mounted, which takes fewer rights than growing it later. Other kinds: nothing.
void grow_unmounted(Mounted::State& state, std::uint64_t size_bytes);
/// Grows files and file system, which is mounted, to `size_bytes`.
void grow(Mounted::State& state, std::uint64_t size_bytes);
/// What an operator is told of a lost file of raid1.
std::string loss_warning(const Record& record);
/// Unmounts and tells the ledger.
void unmount(Mounted::State& state);
/// Settles the mount's entry in the ledger.
void forget_mount(const Mounted::State& state);

}  // namespace underway::overlay
