#pragma once
/// @file
/// A host's console in one line: why its agent does not join, as far as init and agent have said.

#include <string>
#include <string_view>

namespace underway::host {

/// The agent's last line; of an error its first line and its reason. What `underway-init` says counts only when the
/// agent said nothing: the last line of an agent that cannot listen at its port is always followed by init's "starting
/// it again", which tells nobody why. Empty when nobody said anything.
std::string last_words(std::string_view console);

/// The same for a console's file, of which only the end is read. Empty when there is none. Blocks: yes (disk).
std::string last_words_in(const std::string& path);

}  // namespace underway::host
