#pragma once
/// @file
/// Characters of UTF-8 texts as Go and cty see them. Never fails: a byte that begins no valid sequence stands for
/// itself.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace underway::unicode {

/// The code point at the start of `text` and its bytes; of a stray byte U+FFFD and 1. `text` is not empty.
struct Point {
  std::uint32_t value = 0;
  std::size_t size = 0;
};
Point first_point(std::string_view text);
/// Where the last code point of `text` begins.
std::size_t last_point(std::string_view text);
/// What is no code point (a lone surrogate, too large) becomes U+FFFD.
void append(std::string& out, std::uint32_t point);

/// Normal form C, without which "é" and "e\u0301" were two names.
std::string normalized(std::string_view text);
/// The text cut into extended grapheme clusters (UAX #29): what people call characters.
std::vector<std::string_view> clusters(std::string_view text);
std::size_t count_clusters(std::string_view text);

/// Point by point, as Go's strings package: "ß" stays "ß".
std::string upper(std::string_view text);
std::string lower(std::string_view text);
/// The first letter of each word in title case, as Go's strings.Title.
std::string title(std::string_view text);

/// One character's simple case mappings.
std::uint32_t to_upper(std::uint32_t point);
std::uint32_t to_lower(std::uint32_t point);
std::uint32_t to_title(std::uint32_t point);

/// Go's unicode.IsLetter, IsDigit and so on, by general category (Unicode 15).
bool is_letter(std::uint32_t point);
bool is_digit(std::uint32_t point);
bool is_number(std::uint32_t point);
bool is_upper(std::uint32_t point);
bool is_lower(std::uint32_t point);
bool is_title(std::uint32_t point);
bool is_punctuation(std::uint32_t point);
/// Go's unicode.IsPrint: letters, marks, numbers, punctuation, symbols and the blank.
bool is_printable(std::uint32_t point);
/// Whether it may begin an identifier, and whether it may stand in one (UAX #31).
bool is_identifier_start(std::uint32_t point);
bool is_identifier_part(std::uint32_t point);
/// White_Space: what Go's unicode.IsSpace says.
bool is_space(std::uint32_t point);
std::string_view trim_space_left(std::string_view text);
std::string_view trim_space_right(std::string_view text);
std::string_view trim_space(std::string_view text);

}  // namespace underway::unicode
