#include "gotemplate/detail/utf8.hpp"

#include <algorithm>
#include <iterator>

namespace underway::gotemplate::detail {

namespace {

struct Range {
  char32_t first;
  char32_t last;
  char32_t stride;
};

/// Characters that one difference maps to their other case.
struct Shift {
  char32_t first;
  char32_t last;
  char32_t stride;
  std::int32_t by;
};

#include "unicode_tables.inc"

template <class Entry, std::size_t N>
const Entry* find(const Entry (&table)[N], char32_t rune) {
  const Entry* found = std::ranges::lower_bound(table, rune, {}, &Entry::last);
  const bool in = found != std::end(table) && rune >= found->first && (rune - found->first) % found->stride == 0;
  return in ? found : nullptr;
}

template <std::size_t N>
char32_t shifted(const Shift (&table)[N], char32_t rune) {
  const Shift* found = find(table, rune);
  return found == nullptr ? rune : static_cast<char32_t>(static_cast<std::int32_t>(rune) + found->by);
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

Rune decode(std::string_view text) {
  if (text.empty()) return {kReplacement, 0, false};
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1, true};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return {kReplacement, 1, false};
  char32_t value = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (!is_continuation(text[i])) return {kReplacement, 1, false};
    value = value << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  static constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kLeast[size] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) return {kReplacement, 1, false};
  return {value, size, true};
}

void append(std::string& out, char32_t rune) {
  if (rune > 0x10FFFF || (rune >= 0xD800 && rune <= 0xDFFF)) rune = kReplacement;
  if (rune < 0x80) {
    out += static_cast<char>(rune);
    return;
  }
  const int more = rune < 0x800 ? 1 : rune < 0x10000 ? 2 : 3;
  static constexpr unsigned kLead[] = {0, 0xC0, 0xE0, 0xF0};
  out += static_cast<char>(kLead[more] | static_cast<unsigned>(rune >> static_cast<unsigned>(6 * more)));
  for (int i = more - 1; i >= 0; --i)
    out += static_cast<char>(0x80U | (static_cast<unsigned>(rune >> static_cast<unsigned>(6 * i)) & 0x3FU));
}

std::size_t count(std::string_view text) {
  std::size_t runes = 0;
  for (; !text.empty(); ++runes) text.remove_prefix(decode(text).size);
  return runes;
}

std::size_t prefix_size(std::string_view text, std::size_t runes) {
  std::size_t at = 0;
  for (; runes > 0 && at < text.size(); --runes) at += decode(text.substr(at)).size;
  return at;
}

bool is_letter(char32_t rune) { return find(kLetter, rune) != nullptr; }
bool is_digit(char32_t rune) { return find(kDigit, rune) != nullptr; }
bool is_number(char32_t rune) { return find(kNumber, rune) != nullptr; }
bool is_upper(char32_t rune) { return find(kUpper, rune) != nullptr; }
bool is_lower(char32_t rune) { return find(kLower, rune) != nullptr; }
bool is_title(char32_t rune) { return find(kTitle, rune) != nullptr; }
bool is_punctuation(char32_t rune) { return find(kPunct, rune) != nullptr; }
bool is_print(char32_t rune) { return find(kPrint, rune) != nullptr; }

bool is_space(char32_t rune) {
  return rune == ' ' || (rune >= '\t' && rune <= '\r') || rune == 0x85 || rune == 0xA0 || rune == 0x1680 ||
         (rune >= 0x2000 && rune <= 0x200A) || rune == 0x2028 || rune == 0x2029 || rune == 0x202F || rune == 0x205F ||
         rune == 0x3000;
}

char32_t to_upper(char32_t rune) {
  if (rune < 0x80) return rune >= 'a' && rune <= 'z' ? rune - 32 : rune;
  return shifted(kToUpper, rune);
}

char32_t to_lower(char32_t rune) {
  if (rune < 0x80) return rune >= 'A' && rune <= 'Z' ? rune + 32 : rune;
  return shifted(kToLower, rune);
}

char32_t to_title(char32_t rune) { return rune < 0x80 ? to_upper(rune) : shifted(kToTitle, rune); }

}  // namespace underway::gotemplate::detail
