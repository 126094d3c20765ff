#pragma once
/// @file
/// How it is looked at what a host has: a script that runs there, and what is read of it.

#include <string>
#include <string_view>
#include <vector>

#include "model/slurm_member.hpp"
#include "slurm/elastic/readiness.hpp"

namespace underway::slurm {

/// On a host: slurmd may be started. What starts it waits for this file (docs/how-to/let-a-pool-join-slurm.md); it goes
/// with the machine's next boot.
inline constexpr const char* kAdmittedFile = "/run/underway/slurm-admitted";

/// Says, a fact on each line, what is there of the wanted things: "clock SECONDS", "admitted", "boot ID",
/// "configuration VERSION", "memory MIB", "cpus COUNT", "mount PATH", "program PATH". For run_on_host().
std::vector<std::string> look_command(const model::SlurmJoin& wanted);
/// Prints the version of those files as slurmctld has them, as the look does; for run_in_task().
std::vector<std::string> version_command(const model::SlurmJoin& wanted);
/// Opens the gate, and has a slurmd that runs register anew: what started it starts it again.
std::vector<std::string> open_command();
std::vector<std::string> restart_command();

struct HostLook {
  NodeReport report;
  bool admitted = false;  ///< the gate is open
  std::string boot;       ///< boot_id of its kernel: another one after each boot
};
/// `asked` and `answered`: the server's clock before and after. Untrusted: what makes no sense is left out.
HostLook parse_look(std::string_view text, TimePoint asked, TimePoint answered);

}  // namespace underway::slurm
