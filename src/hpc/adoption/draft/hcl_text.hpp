#pragma once
/// @file
/// Values as HCL text. What was seen on a machine becomes part of a file that is evaluated, so nothing in it may be
/// read as a template.

#include <string>
#include <string_view>
#include <vector>

namespace underway::adoption {

/// "…" with everything escaped that HCL would read: quotes, backslashes, line ends, ${ and %{.
std::string hcl_string(std::string_view text);
/// ["a", "b"]
std::string hcl_list(const std::vector<std::string>& items);
/// A comment: every line of the text behind "# ", at most 100 columns.
std::string comment(std::string_view text, std::string_view indent = {});

}  // namespace underway::adoption
