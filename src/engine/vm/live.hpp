#pragma once
/// @file
/// Whether a machine can go from node to node while it runs: what is asked on the one, and what on the other. A no
/// costs nothing but that it sleeps on the way.

#include <string>

#include "driver/driver.hpp"
#include "vm/config.hpp"
#include "vm/machine/machine.hpp"
#include "vm/probe.hpp"

namespace underway::vm {

/// Of a machine that runs here. Blocks: yes (its directory, /proc).
driver::LiveMachine describe_live(Migrate how, bool is_clone, const Run& run, const Probed& here);
/// Why one that runs elsewhere cannot come here while it runs, for people; empty: it can. `processor`: this node's.
/// Pure.
std::string why_not_live(const driver::LiveMachine& machine, const Probed& here, const std::string& processor);

/// Sockets in a machine's run directory, which its QEMU runs in: those that it listens at when it takes one in, and
/// those that it connects to when it is sent.
std::string entrance_name(driver::MachinePart part);
std::string departure_name(driver::MachinePart part);

/// What a guest sees of this node's processor: its model, and all that it can. Blocks: yes (/proc).
std::string processor_of_node();

}  // namespace underway::vm
