#include "gotemplate/printing/utf8.hpp"

namespace underway::gotemplate {

Rune decode(std::string_view text) {
  if (text.empty()) return {kReplacement, 0, false};
  const auto point = unicode::first_point(text);
  // U+FFFD itself takes three bytes: what takes one stands for a stray byte.
  return {point.value, point.size, point.value != kReplacement || point.size != 1};
}

void append(std::string& out, char32_t rune) { unicode::append(out, rune); }

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

}  // namespace underway::gotemplate
