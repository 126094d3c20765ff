#pragma once
/// @file
/// The commands that pages tell a reader to type, found as a shell finds them.

#include "documents/pages.hpp"

namespace underway::documents {

using Words = std::vector<std::string>;

/// A command of a script, and the line in which it begins.
struct Typed {
  Words words;
  int line = 0;
};

/// The commands of a script, also those behind a pipe, within `$(…)` and within an alias. Quotes are taken off;
/// redirections, comments and here-documents are left out.
std::vector<Typed> commands_in(const std::string& script);

/// What is typed behind `underway` or `nomad`.
struct CommandLine {
  std::string program;  ///< nothing: a sentence leaves it out, as in `node drain -disable`
  Words words;
  int line = 0;
  bool whole = true;  ///< nothing is left to the reader
};

/// Ours among the commands of a script, behind `sudo`, `until` and the like too.
std::vector<CommandLine> command_lines_in(const std::string& script);
/// Those of a page's blocks, and of its sentences, where they are seldom whole.
std::vector<CommandLine> command_lines_of(const Page& page);

}  // namespace underway::documents
