#pragma once
/// @file
/// An allocation's ephemeral disk: what of its directory its successor gets, `alloc/data` and each task's `local`. It
/// arrives in a directory of its own, and is put in place when all of it is there. When the agent is killed while ten
/// gigabytes are on their way, the next one has them sent anew; no task is started with half of them.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "async/loop.hpp"
#include "model/job/job.hpp"
#include "node/runtime.hpp"

namespace underway::node {

/// Paths below an allocation's directory.
std::vector<std::string> disk_parts(const model::TaskGroup& group);

/// Where the node looks for an allocation's predecessor. Thread: loop.
class Predecessors {
 public:
  virtual ~Predecessors() = default;
  /// Its directory once nothing of it runs; nothing when it is not on this node. May wait for long.
  virtual awaitable<std::optional<std::string>> wait_for_directory(std::string allocation) = 0;
  /// Brings the disk of `allocation`'s predecessor from the node that has it into the directory `to`. Waits until
  /// nothing of the predecessor runs. Throws Error when that node does not have it or is not linked, or when what comes
  /// is no disk.
  virtual awaitable<void> fetch_disk(std::string allocation, std::string to) = 0;

  // Of an allocation that another one's virtual machines come to (model::AllocArrival). Errors: unavailable while who
  // has them cannot be asked; others: they are not to be had.

  virtual awaitable<std::vector<protocol::KeptMachine>> describe_machines(std::string allocation) = 0;
  /// Waits until the machine of the task sleeps, and brings what it keeps into the directory `to`.
  virtual awaitable<void> fetch_machine(std::string allocation, std::string task, std::string to) = 0;

  // Of a machine that goes to another node while it runs. Errors: unavailable while no server is linked; others.

  /// The machine of the task is sent to what takes it in here, and stands still from then on.
  virtual awaitable<protocol::Departure> receive_machine(std::string allocation, std::string task) = 0;
  /// What one of ours says at `socket`, to where it goes, and back, until both have ended. A failure ends both.
  virtual awaitable<void> carry(protocol::MachineStream header, os::Fd socket) = 0;
  /// What became of one of ours that was sent whole to allocation `to`.
  virtual awaitable<protocol::MoveFate> fate_of(std::string allocation, std::string to) = 0;

  /// Whether another one of its name is on this node, and has not ended: what its machines keep is in the same place.
  virtual bool has_namesake(const std::string& allocation) const = 0;
};

/// The directory in which a disk arrives that comes from elsewhere; empty, made anew. Blocks: yes (disk), all of these.
std::string open_arrival(const std::string& root);
/// All of it is there.
void close_arrival(const std::string& root);
bool has_arrived(const std::string& root);
/// The same for one of this node: moves all of it over. Goes on where an agent before us died.
void take_over(const std::string& from_root, const std::string& root, const std::vector<std::string>& parts);
/// Puts in place what has arrived, over what is empty. Goes on where an agent before us died.
void settle_arrival(const std::string& root, const std::vector<std::string>& parts);

/// The directory in which machines arrive that come to the allocation; empty, made anew.
std::string open_machines(const std::string& root);
/// All of them are there.
void close_machines(const std::string& root);
/// Where that of a task is then, until its driver takes it.
std::string arrived_machine(const std::string& root, const std::string& task);

/// What lies below an allocation's directory, on its file system.
struct DiskUse {
  std::uint64_t bytes = 0;  ///< of blocks; a file with several names counts once
  /// By the first directory: a task's name, or "alloc".
  std::map<std::string, std::uint64_t> parts;
  std::int64_t free_percent = 100;  ///< of the file system
};
/// Follows no link and looks into no other file system. At most a million files, 64 levels deep: what is beyond is not
/// counted. Blocks: yes (disk).
DiskUse measure_disk(const std::string& root);

/// As a tar archive, what of `parts` is a file, a directory or a link that stays inside: the command that writes it to
/// its standard output, and the one that unpacks it from its standard input below `directory`.
std::vector<std::string> pack_command(const std::string& program, const std::string& root,
                                      const std::vector<std::string>& parts);
std::vector<std::string> unpack_command(const std::string& program, const std::string& directory);

}  // namespace underway::node
