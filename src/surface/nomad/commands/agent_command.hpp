#pragma once
/// @file
/// `nomad agent`: ours, with that agent's flags.

#include "cli/command.hpp"

namespace underway::nomad {

cli::Command agent_command();

}  // namespace underway::nomad
