#pragma once
/// @file
/// From what a job says of a machine, and what the node gives its task, to the machine: every value known.

#include <string>

#include "driver/driver.hpp"
#include "vm/config.hpp"
#include "vm/machine/machine_spec.hpp"

namespace underway::vm {

struct Layout {
  MachineSpec machine;
  std::string directory;  ///< the machine's own
  bool named = false;     ///< it stays when the allocation ends

  struct Disk {
    std::string path;
    std::string base;         ///< empty: none
    std::uint64_t bytes = 0;  ///< 0: as the base
  };
  std::vector<Disk> to_make;
  std::string seed;  ///< path; empty: none
  /// Of machine.shared_memory, whose files are not known before they are made.
  std::vector<std::string> shared_names;
};

/// A place for a generation that is drawn at the start.
inline constexpr std::string_view kNoGeneration = "00000000-0000-0000-0000-000000000000";

/// `machines`: where those with a name are. Errors: invalid (a port that the group does not have), not_found (an
/// image). Blocks: yes (asks images for their format).
Layout lay_out(const Config& config, const driver::TaskSpec& spec, const std::string& machines,
               Accelerator accelerator);

/// "7f3a9c12-web", or the name that it has.
std::string machine_name(const Config& config, const driver::TaskSpec& spec);

}  // namespace underway::vm
