#pragma once
/// @file
/// The parts of a machine's start, for the driver alone.

#include <memory>

#include "vm/driver.hpp"

namespace underway::vm {

/// The task that holds its QEMU; it runs, or waits for its memory. Errors: those of Driver::start; nothing is left
/// then.
std::unique_ptr<driver::TaskHandle> start_machine(const Options& options, const Probed& found,
                                                  const driver::TaskSpec& spec);
/// Taps are QEMU's and go with it; here they join their bridges, in the network that the machine is in. Idempotent.
void join_bridges(const MachineSpec& machine, const driver::TaskSpec& spec);
/// A clone's guest is told who it is, and then it is on its networks. Again for an agent that died on the way; nothing
/// happens to a machine that is nobody's clone.
void identify(const Options& options, Machine& machine, const driver::TaskSpec& spec);

}  // namespace underway::vm
