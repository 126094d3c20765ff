#pragma once
/// @file
/// The driver `qemu`: a virtual machine as a task. QEMU runs under a keeper like any other task's process, so it
/// outlives agent and server and is taken back; what it prints on its serial line is the task's log.
///
/// A start, in this order; whatever fails undoes what was before it:
///
///   turn · lease is free · a clone is made · a checkpoint that is being restored · what it saved is whole   (state/)
///   disks, the disk for cloud-init                                                            (layout.hpp)
///   keeper and QEMU, whose processors stand still · control socket
///   taps onto bridges · processors onto cores · saved memory in · run
///   of a clone: its guest is told who it is, and only then taps onto bridges
///
/// A machine with a `name` has a directory of its own that stays when its allocation ends: suspended to the disk
/// (Machine::suspend, after which the task has ended with exit code 0) it goes on when the task is started again.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driver/driver.hpp"
#include "vm/machine/machine.hpp"
#include "vm/probe.hpp"

namespace underway::vm {

struct Options {
  /// As for other drivers: keeper, cgroups, ledger.
  driver::Options driver;
  /// "<agent data_dir>/machines": the directories of machines with a name.
  std::string machines;
  ProbeOptions probe;
  /// "<libexec>/underway-identify": what makes a clone somebody else, in its guest.
  std::string identify_program;
  const Clock* clock = nullptr;  ///< the host's, which a clone's guest is given; needed
  /// How long the agent of a clone's guest has to answer: one that boots anew needs the whole of a boot.
  Duration identify_within = std::chrono::minutes{3};
  /// Memory that machines share, in a file system of the host's memory.
  std::string shared_memory = "/dev/shm/underway-machines";
  /// Told before each part of a start: for tests that end the agent there.
  std::function<void(const std::string&)> on_step;
  /// A task whose QEMU is to be the target of a migration waits for its memory: its environment has this variable,
  /// which says where ("tcp:0.0.0.0:4444").
  static constexpr const char* kIncoming = "UNDERWAY_VM_INCOMING";
  /// And takes its disks at this place ("tcp:0.0.0.0:4445"), when it does not see those of the source.
  static constexpr const char* kIncomingDisks = "UNDERWAY_VM_INCOMING_DISKS";
};

std::unique_ptr<driver::Driver> make_qemu(Options options);

/// Where the sockets of a task's machine are, for Machine::open.
std::string run_directory(const driver::TaskSpec& spec);

}  // namespace underway::vm
