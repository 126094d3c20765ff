#pragma once
/// @file
/// UTF-8 as Go reads it: each byte that begins no valid character is one U+FFFD.

#include <cstdint>
#include <string>
#include <string_view>

#include "unicode/unicode.hpp"

namespace underway::gotemplate {

inline constexpr char32_t kReplacement = 0xFFFD;

struct Rune {
  char32_t value;
  std::size_t size;  ///< bytes; 0 at the end of the text
  bool valid;
};

/// The character at the beginning of `text`.
Rune decode(std::string_view text);
/// U+FFFD for what is no character.
void append(std::string& out, char32_t rune);
std::size_t count(std::string_view text);
/// The bytes of the first `runes` characters.
std::size_t prefix_size(std::string_view text, std::size_t runes);

using unicode::is_digit;
using unicode::is_letter;
using unicode::is_lower;
using unicode::is_number;
using unicode::is_printable;
using unicode::is_punctuation;
using unicode::is_space;
using unicode::is_title;
using unicode::is_upper;
using unicode::to_lower;
using unicode::to_title;
using unicode::to_upper;

}  // namespace underway::gotemplate
