#pragma once
/// @file
/// What a command takes away for good. Before it does, it says what, and wants a name typed or -yes. One way for all
/// commands: nobody loses a cluster by a line of the shell's history, and a script says that it means it.

#include <functional>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace underway::cli {

struct Loss {
  std::string deed;               ///< "this takes cluster 'demo' away"
  std::string word;               ///< what is typed to agree: the name of what goes
  std::vector<std::string> lost;  ///< each in a line: "3 Slurm jobs run: 17, 18, 19"
};

/// Of every command that asks.
inline constexpr Flag kYes{"yes", "", "Does not ask.", false};

/// Says what would be lost, to standard error, and asks. kDone: go on, it was agreed to or nothing is lost. Otherwise
/// the command changes nothing and ends with what is returned: kUsage when there is no terminal to ask on and no -yes,
/// kFailed when something else was typed.
ExitCode ask_before(const Loss& loss, const Arguments& arguments);

/// The same, of whoever is asked. `typed`: reads what is typed; absent when there is nobody.
ExitCode ask_before(const Loss& loss, bool yes, const std::function<std::string()>& typed);

}  // namespace underway::cli
