#pragma once
/// @file
/// The command line of QEMU for a machine. Pure. Sockets are named without a directory: QEMU runs in that of its run,
/// so that no path is longer than an address may be (unix(7): 107 bytes).
///
/// Every machine starts with its processors stopped. Who started it first does what only he can (taps onto bridges,
/// processors onto cores, saved memory in), and then lets it run.

#include <string>
#include <string_view>
#include <vector>

#include "vm/machine/machine_spec.hpp"

namespace underway::vm {

inline constexpr std::string_view kControlSocket = "qmp.sock";
inline constexpr std::string_view kConsoleSocket = "console.sock";
inline constexpr std::string_view kAgentSocket = "agent.sock";

struct Launch {
  /// QEMU holds an exclusive lock of fcntl(2) on this file from before it opens a disk to its end (-pidfile): two
  /// cannot run one machine, whoever starts them.
  std::string lease;
  /// Its memory comes from elsewhere: it waits for `migrate-incoming`.
  bool incoming = false;
  /// What the guest says on its serial line goes here as well; empty: to the socket alone.
  std::string console_log = "/dev/fd/1";
};

/// Without the program itself.
std::vector<std::string> command_line(const MachineSpec& spec, const Launch& launch);

}  // namespace underway::vm
