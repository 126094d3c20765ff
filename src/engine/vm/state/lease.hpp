#pragma once
/// @file
/// Who runs a machine. The lease is a lock on the file `lease` beside the machine's disks that its QEMU itself holds
/// from before it opens a disk to its end, however that comes: no agent and no server has to be there for it, and no
/// time has to pass after a death. It counts wherever locks of fcntl(2) do, so also between hosts that share the
/// directory by NFS version 4. Disks have QEMU's own locks beside it.
///
/// While a machine is being started or put to sleep there is more than one process about; that is what `Turn` is for.

#include <string>

#include "os/file.hpp"

namespace underway::vm {

/// While a machine moves between two QEMUs that share its directory, each holds one of two: `lease` and `lease-target`.
/// Only one of them has processors that are let run (machine.hpp). Who starts it needs both to be free.

/// "pid 4711 (machine 'web' of 7f3a9c12/web on gpu-014)" while a QEMU holds a lease of the machine in `directory`;
/// empty when none does.
std::string lease_holder(const std::string& directory);
/// The file for a QEMU that is about to be started: of one that will wait for its memory (`target`) the one that is
/// free. `who` is named to those who come too late. Errors: conflict, naming the holder.
std::string choose_lease(const std::string& directory, const std::string& machine, const std::string& who, bool target);
/// Errors: conflict, naming the holder.
void require_free(const std::string& directory, const std::string& machine);

/// Whether the other of the two is held: by the source, asked of a target.
bool other_is_held(const std::string& directory, const std::string& own_lease);

/// Whether a QEMU holds this one.
bool is_held(const std::string& lease);

/// Somebody starts it, or does something to it.
bool machine_is_busy(const std::string& directory);

/// One at a time starts a machine, or does something to it: "start of 'web'". Given back by the destructor, or by
/// death.
class Turn {
 public:
  /// Errors: conflict, naming who has the turn.
  static Turn take(const std::string& directory, const std::string& what);

 private:
  explicit Turn(os::FileLock lock) : lock_(std::move(lock)) {}
  os::FileLock lock_;
};

}  // namespace underway::vm
