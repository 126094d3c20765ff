#include "hcl/detail/unicode.hpp"

#include <fmt/format.h>

#include <clocale>
#include <cwctype>

namespace underway::hcl::detail {

namespace {

/// glibc's case tables; the locale is built in since 2.35 (glibc NEWS).
locale_t utf8_locale() {
  static const locale_t kLocale = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return kLocale;
}

std::uint32_t decode(std::string_view point) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(point[i])); };
  switch (point.size()) {
    case 2:
      return ((byte(0) & 0x1f) << 6) | (byte(1) & 0x3f);
    case 3:
      return ((byte(0) & 0x0f) << 12) | ((byte(1) & 0x3f) << 6) | (byte(2) & 0x3f);
    case 4:
      return ((byte(0) & 7) << 18) | ((byte(1) & 0x3f) << 12) | ((byte(2) & 0x3f) << 6) | (byte(3) & 0x3f);
    default:
      return byte(0);
  }
}

std::size_t sequence_length(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
  if (at + length > text.size()) return 1;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[at + i]) & 0xc0) != 0x80) return 1;
  }
  return length;
}

template <class Map>
std::string map_case(std::string_view text, Map map) {
  std::string out;
  out.reserve(text.size());
  for (const std::string_view point : code_points(text)) {
    const std::uint32_t before = decode(point);
    const std::uint32_t after = map(before);
    if (after == before) {
      out += point;
    } else {
      append_utf8(out, after);
    }
  }
  return out;
}

std::uint32_t to_upper(std::uint32_t c) {
  return static_cast<std::uint32_t>(::towupper_l(static_cast<wint_t>(c), utf8_locale()));
}
std::uint32_t to_lower(std::uint32_t c) {
  return static_cast<std::uint32_t>(::towlower_l(static_cast<wint_t>(c), utf8_locale()));
}

}  // namespace

void append_utf8(std::string& out, std::uint32_t c) {
  if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff)) c = 0xfffd;
  const auto put = [&](std::uint32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  if (c < 0x80) {
    put(c);
  } else if (c < 0x800) {
    put(0xc0 | (c >> 6)), put(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    put(0xe0 | (c >> 12)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  } else {
    put(0xf0 | (c >> 18)), put(0x80 | ((c >> 12) & 0x3f)), put(0x80 | ((c >> 6) & 0x3f)), put(0x80 | (c & 0x3f));
  }
}

std::optional<std::uint32_t> parse_hex(std::string_view digits, std::size_t count) {
  if (digits.size() < count) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : digits.substr(0, count)) {
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A' + 10);
    } else {
      return std::nullopt;
    }
    value = value * 16 + digit;
  }
  return value;
}

std::vector<std::string_view> code_points(std::string_view text) {
  std::vector<std::string_view> points;
  points.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    points.push_back(text.substr(at, length));
    at += length;
  }
  return points;
}

std::size_t count_code_points(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); at += sequence_length(text, at)) ++count;
  return count;
}

std::string upper_case(std::string_view text) { return map_case(text, to_upper); }
std::string lower_case(std::string_view text) { return map_case(text, to_lower); }

std::string title_case(std::string_view text) {
  bool word_start = true;
  return map_case(text, [&](std::uint32_t c) {
    const bool in_word = ::iswalnum_l(static_cast<wint_t>(c), utf8_locale()) != 0 || c == '_' || c == '\'';
    const std::uint32_t mapped = word_start ? to_upper(c) : c;
    word_start = !in_word;
    return mapped;
  });
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

}  // namespace underway::hcl::detail
