#pragma once
/// @file
/// What is kept of a machine that sleeps, and of one at an earlier moment (a checkpoint). In the machine's directory:
///
///   saved.json, memory-<id>.zst                 it sleeps: start goes on from here
///   checkpoints/<id>.json, <id>.zst             as it was then; of its disks, internal snapshots "checkpoint-<id>"
///   restoring.json                              a checkpoint that is being put back: start finishes that first
///
/// The description is the commit: it is written (temporary file, fsync, rename) when all that it names is on the disk,
/// and removed first. What lies there without one is half made and cleared away.
///
/// Memory and disks belong together: a description has size and time of each disk, and a machine whose disk has been
/// written to since is not woken with what its memory knows of it.

#include <optional>
#include <string>
#include <vector>

#include "vm/machine/machine_spec.hpp"
#include "vm/state/stream.hpp"

namespace underway::vm {

struct SavedDisk {
  std::string name;
  std::string file;
  std::int64_t bytes = 0;
  std::int64_t changed = 0;  ///< nanoseconds since the epoch, the file's
};

struct Saved {
  std::string id;
  MachineSpec machine;
  std::string qemu;          ///< version of the QEMU that wrote it
  std::int64_t created = 0;  ///< nanoseconds since the epoch
  std::string memory;        ///< file, beside the description
  std::int64_t raw_bytes = 0, stored_bytes = 0;
  std::string sha256;
  std::vector<SavedDisk> disks;  ///< those that the guest may write to
  bool running = true;           ///< false: it was suspended to RAM then, and stays so
};

const describe::Structure& description(describe::Tag<SavedDisk>);
const describe::Structure& description(describe::Tag<Saved>);

/// Nothing when the machine does not sleep. Errors: invalid (no description that can be read).
std::optional<Saved> find_saved(const std::string& directory);
void write_saved(const std::string& directory, const Saved& saved);
/// Description first. Nothing happens when there is none.
void remove_saved(const std::string& directory);

/// Whether a machine as `spec` can go on with it; opens the memory, its digest checked. Errors: conflict (it is another
/// machine, a disk was written to), invalid (a bit is wrong): each with what to do. Blocks: yes, reads it all.
os::Fd open_verified(const std::string& directory, const Saved& saved, const MachineSpec& spec);

/// As they are now.
std::vector<SavedDisk> look_at_disks(const MachineSpec& spec);

/// Oldest first. One that cannot be read is left out.
std::vector<Saved> list_checkpoints(const std::string& directory);
/// Reads its memory. Errors: not_found, invalid (a bit is wrong). Blocks: yes.
void verify_checkpoint(const std::string& directory, const std::string& id);
void write_checkpoint(const std::string& directory, const Saved& checkpoint);
/// The files; the disks' snapshots are the machine's to remove while it runs.
void remove_checkpoint(const std::string& directory, const std::string& id);
std::string checkpoint_directory(const std::string& directory);
std::string snapshot_name(const std::string& checkpoint_id);

/// Makes a checkpoint what the machine goes on from at its next start: disks as of then, memory as of then. What it
/// saved otherwise is gone. The checkpoint stays. Again after a crash: finish_restore. Errors: conflict (it runs),
/// not_found, and those of open_verified.
void restore(const std::string& directory, const std::string& id, const MachineSpec& spec);
/// Of a restore that was begun; nothing happens when none was.
void finish_restore(const std::string& directory, const MachineSpec& spec);

/// Files without a description.
void clear_half_made(const std::string& directory);

}  // namespace underway::vm
