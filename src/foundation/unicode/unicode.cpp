#include "unicode/unicode.hpp"

#include <utf8proc.h>

#include <cstdlib>
#include <memory>

namespace underway::unicode {

namespace {

/// NOLINTNEXTLINE: utf8proc's bytes are unsigned
const utf8proc_uint8_t* bytes(std::string_view text) { return reinterpret_cast<const utf8proc_uint8_t*>(text.data()); }

bool is_ascii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

template <class Map>
std::string mapped(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Point point = first_point(text.substr(at));
    const std::uint32_t to = map(point.value);
    if (to == point.value) {
      out += text.substr(at, point.size);
    } else {
      append(out, to);
    }
    at += point.size;
  }
  return out;
}

utf8proc_int32_t signed_point(std::uint32_t c) { return static_cast<utf8proc_int32_t>(c); }

/// utf8proc makes U+1E9E of it, which Unicode's simple mappings and Go do not.
constexpr std::uint32_t kSharpS = 0xdf;

/// utf8proc's categories stand in the order of the standard: letters, marks, numbers, punctuation, symbols.
bool is_between(std::uint32_t c, utf8proc_category_t first, utf8proc_category_t last) {
  const auto category = utf8proc_category(signed_point(c));
  return category >= first && category <= last;
}

/// Go's strings.Title: beyond ASCII only white space ends a word.
bool ends_word(std::uint32_t c) {
  if (c < 0x80) return !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_');
  return !is_letter(c) && !is_digit(c) && is_space(c);
}

}  // namespace

std::uint32_t to_upper(std::uint32_t c) {
  return c == kSharpS ? c : static_cast<std::uint32_t>(utf8proc_toupper(signed_point(c)));
}
std::uint32_t to_lower(std::uint32_t c) { return static_cast<std::uint32_t>(utf8proc_tolower(signed_point(c))); }
std::uint32_t to_title(std::uint32_t c) {
  return c == kSharpS ? c : static_cast<std::uint32_t>(utf8proc_totitle(signed_point(c)));
}

bool is_letter(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LO); }
bool is_digit(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_ND); }
bool is_number(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NO); }
bool is_upper(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LU); }
bool is_lower(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LL); }
bool is_title(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LT); }
bool is_punctuation(std::uint32_t c) { return is_between(c, UTF8PROC_CATEGORY_PC, UTF8PROC_CATEGORY_PO); }

bool is_printable(std::uint32_t c) {
  if (c < 0x80) return c >= ' ' && c < 0x7f;
  return is_between(c, UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_SO);
}

bool is_identifier_start(std::uint32_t c) {
  switch (utf8proc_category(signed_point(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_NL:
      return true;
    default:  // Other_ID_Start
      return c == 0x2118 || c == 0x212e || c == 0x309b || c == 0x309c || c == 0x1885 || c == 0x1886;
  }
}

bool is_identifier_part(std::uint32_t c) {
  if (is_identifier_start(c)) return true;
  switch (utf8proc_category(signed_point(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:  // Other_ID_Continue
      return c == 0xb7 || c == 0x387 || (c >= 0x1369 && c <= 0x1371) || c == 0x19da;
  }
}

Point first_point(std::string_view text) {
  utf8proc_int32_t point = 0;
  const auto size = utf8proc_iterate(bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &point);
  if (size <= 0 || point < 0) return {0xfffd, 1};
  return {static_cast<std::uint32_t>(point), static_cast<std::size_t>(size)};
}

std::size_t last_point(std::string_view text) {
  std::size_t at = text.size() - 1;
  while (at > 0 && text.size() - at < 4 && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80) --at;
  return at + first_point(text.substr(at)).size == text.size() ? at : text.size() - 1;
}

void append(std::string& out, std::uint32_t point) {
  if (point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff)) point = 0xfffd;
  utf8proc_uint8_t encoded[4];
  const auto size = utf8proc_encode_char(static_cast<utf8proc_int32_t>(point), encoded);
  for (utf8proc_ssize_t i = 0; i < size; ++i) out += static_cast<char>(encoded[i]);
}

std::string normalized(std::string_view text) {
  if (is_ascii(text)) return std::string(text);
  utf8proc_uint8_t* made = nullptr;
  const auto size = utf8proc_map(bytes(text), static_cast<utf8proc_ssize_t>(text.size()), &made,
                                 static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  if (size < 0) return std::string(text);                                        // not UTF-8
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};  // NOLINT
}

std::vector<std::string_view> clusters(std::string_view text) {
  std::vector<std::string_view> out;
  utf8proc_int32_t state = 0;
  std::uint32_t before = 0;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Point point = first_point(text.substr(at));
    if (at > 0 && utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(before),
                                                   static_cast<utf8proc_int32_t>(point.value), &state)) {
      out.push_back(text.substr(begin, at - begin));
      begin = at;
    }
    before = point.value;
    at += point.size;
  }
  if (begin < text.size()) out.push_back(text.substr(begin));
  return out;
}

std::size_t count_clusters(std::string_view text) {
  if (is_ascii(text) && text.find('\r') == std::string_view::npos) return text.size();
  return clusters(text).size();
}

std::string upper(std::string_view text) { return mapped(text, to_upper); }
std::string lower(std::string_view text) { return mapped(text, to_lower); }

std::string title(std::string_view text) {
  std::uint32_t before = ' ';
  return mapped(text, [&](std::uint32_t c) {
    const std::uint32_t to = ends_word(before) ? to_title(c) : c;
    before = c;
    return to;
  });
}

bool is_space(std::uint32_t c) {
  return (c >= '\t' && c <= '\r') || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

std::string_view trim_space_left(std::string_view text) {
  while (!text.empty()) {
    const Point point = first_point(text);
    if (!is_space(point.value)) break;
    text.remove_prefix(point.size);
  }
  return text;
}

std::string_view trim_space_right(std::string_view text) {
  while (!text.empty()) {
    const std::size_t last = last_point(text);
    if (!is_space(first_point(text.substr(last)).value)) break;
    text.remove_suffix(text.size() - last);
  }
  return text;
}

std::string_view trim_space(std::string_view text) { return trim_space_right(trim_space_left(text)); }

}  // namespace underway::unicode
