#pragma once
/// @file
/// The tables of what Nomad has, one line for each thing: fields divided by " | ", `#` begins a remark.

#include <string>
#include <vector>

namespace underway::conformance {

using Line = std::vector<std::string>;

/// Throws when the file is not there, or a line has fewer than `fields` fields.
std::vector<Line> read_lines(const std::string& name, std::size_t fields);

/// What a cell of a Markdown table holds, safely.
std::string cell(const std::string& text);

}  // namespace underway::conformance
