#pragma once
/// @file
/// Forms of that client's words that are not in cli: Go's quoted strings and spans of time, columns without titles, and
/// its questions.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace underway::nomad {

using Rows = std::vector<std::vector<std::string>>;

/// As Go's %q writes it: in quotes, with what is not printable escaped.
std::string go_quote(std::string_view text);
/// As Go writes a span of whole seconds: "1h0m5s"; "0s".
std::string go_duration(std::int64_t seconds);
/// Columns two blanks apart, without titles. Nothing in a cell is "<none>" when `mark_empty`, and stays nothing else.
std::string columns_text(const Rows& rows, bool mark_empty = true);
std::string spell(bool value);

enum class Answer { yes, no, unclear };
/// Asks on standard output and reads one line of standard input, of a pipe too: an exact "y" agrees. What else is typed
/// is answered as that client answers it, with `refusal` for no. Throws invalid when nothing is there to be read.
Answer ask(const std::string& question, const std::string& refusal);

}  // namespace underway::nomad
