#pragma once
/// @file
/// The start of `underway agent`, which `nomad agent` is too.

#include "cli/command.hpp"

namespace underway::cli {

/// `as_nomad`: the program was called by that name, under which -dev is as open as there
/// (agent/config/nomad_compat.hpp).
int run_agent(const Arguments& arguments, bool as_nomad);

}  // namespace underway::cli
