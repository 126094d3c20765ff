#pragma once
/// @file
/// The program under Nomad's name.

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace underway::nomad {

/// Whether the program was called by this name: the last part of `argv0` is "nomad".
bool is_called(std::string_view argv0);
/// Runs it. Exit codes are Nomad's: 0 done, 1 failed or not understood, 2 not all could be placed, 127 no such command;
/// of `job plan` 1 is changes and 255 failed.
int run_program(const std::vector<std::string>& words);

/// A command of ours that is carried out in another way here.
cli::Command with_run(cli::Command command, int (*run)(const cli::Arguments&));

/// `nomad -version`: our own name, and what is spoken.
std::string version_text();

}  // namespace underway::nomad
