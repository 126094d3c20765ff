#pragma once
/// @file
/// Code points of UTF-8 text. Decoding never fails: a byte that begins no valid sequence stands for itself.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::hcl::detail {

/// What is no code point (a lone surrogate, too large) becomes U+FFFD.
void append_utf8(std::string& out, std::uint32_t code_point);
/// `count` hexadecimal digits at the start of `digits`.
std::optional<std::uint32_t> parse_hex(std::string_view digits, std::size_t count);
/// The text cut into its code points.
std::vector<std::string_view> code_points(std::string_view text);
std::size_t count_code_points(std::string_view text);
std::string upper_case(std::string_view text);
std::string lower_case(std::string_view text);
/// The first letter of every word in upper case.
std::string title_case(std::string_view text);
/// As a JSON string in quotes; `<`, `>` and `&` are written as escapes, as Go's encoder does.
std::string json_quote(std::string_view text);

}  // namespace underway::hcl::detail
