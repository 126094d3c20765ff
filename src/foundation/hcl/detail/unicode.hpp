#pragma once
/// @file
/// Code points of UTF-8 text, beside what the library unicode has.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::hcl::detail {

/// `count` hexadecimal digits at the start of `digits`.
std::optional<std::uint32_t> parse_hex(std::string_view digits, std::size_t count);
/// The text cut into its code points.
std::vector<std::string_view> code_points(std::string_view text);
/// As Go's %q: what cannot be printed is escaped.
std::string go_quote(std::string_view text);

}  // namespace underway::hcl::detail
