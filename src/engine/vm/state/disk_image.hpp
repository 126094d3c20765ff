#pragma once
/// @file
/// Files that are disks, by `qemu-img`. Blocks: yes. Every failure carries what the program said.

#include <cstdint>
#include <string>

namespace underway::vm {

/// A layer over `base` that takes all writes; as large as that, or `bytes` when that is more than 0. Nothing happens
/// when there is one.
void make_layer(const std::string& path, const std::string& base, std::uint64_t bytes);
/// An empty disk. Nothing happens when there is one.
void make_disk(const std::string& path, std::uint64_t bytes);
/// "qcow2", "raw", "vmdk": what the file says of itself.
std::string disk_format(const std::string& path);
/// The file that the disk `path` is a layer over, absolute; empty: none.
std::string base_of(const std::string& path);
/// The layer `path` is over `base` from now on, which has the same content as what it was over. Its time stays: whoever
/// kept a machine's memory beside it knows it again by that.
void set_base(const std::string& path, const std::string& base);
/// What an internal snapshot of `from` holds, as a disk of its own, a layer over `base` unless that is empty; in place
/// of one that is there. `from` may be a running machine's, whose snapshot stays meanwhile. Errors: conflict.
void copy_snapshot(const std::string& from, const std::string& snapshot, const std::string& to,
                   const std::string& base);
/// The disk as of an internal snapshot; nobody has it open. Errors: not_found and others.
void revert_disk(const std::string& path, const std::string& snapshot);

}  // namespace underway::vm
