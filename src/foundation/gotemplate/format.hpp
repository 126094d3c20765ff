#pragma once
/// @file
/// Go's package fmt: how values are printed. Everything made is charged to the rendering.

#include "gotemplate/value.hpp"

#include <span>
#include <string>
#include <string_view>

namespace underway::gotemplate {

/// As fmt.Print prints it, `%v`.
void append_text(std::string& out, const Value& value, Run& run);
std::string to_text(const Value& value, Run& run);
/// fmt.Sprint: blanks between operands when neither is a string.
std::string print(std::span<const Value> values, Run& run);
/// fmt.Sprintln: blanks between all, and a newline.
std::string println(std::span<const Value> values, Run& run);
/// fmt.Sprintf with all of its verbs and flags. What does not fit is told inside the text: "%!d(string=x)".
std::string printf(std::string_view format, std::span<const Value> values, Run& run);

/// Go's %q: double quotes and Go's escapes.
std::string quote(std::string_view text);
/// strconv.FormatFloat(value, 'g', -1, 64), as %v.
std::string real_text(double value);

}  // namespace underway::gotemplate
