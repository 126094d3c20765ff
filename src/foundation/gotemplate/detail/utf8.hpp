#pragma once
/// @file
/// UTF-8 as Go reads it: each byte that begins no valid character is one U+FFFD.

#include <cstdint>
#include <string>
#include <string_view>

namespace underway::gotemplate::detail {

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

/// Go's unicode.IsLetter, IsDigit and so on, from its own tables (unicode_tables.inc).
bool is_letter(char32_t rune);
bool is_digit(char32_t rune);
bool is_number(char32_t rune);
bool is_space(char32_t rune);
bool is_upper(char32_t rune);
bool is_lower(char32_t rune);
bool is_title(char32_t rune);
bool is_punctuation(char32_t rune);
/// strconv.IsPrint: no control, format or private character, and no blank but ' '.
bool is_print(char32_t rune);
char32_t to_upper(char32_t rune);
char32_t to_lower(char32_t rune);
char32_t to_title(char32_t rune);

}  // namespace underway::gotemplate::detail
