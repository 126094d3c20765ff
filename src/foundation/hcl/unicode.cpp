#include "hcl/detail/unicode.hpp"

#include "unicode/unicode.hpp"

#include <fmt/format.h>

namespace underway::hcl::detail {

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
    const std::size_t length = unicode::first_point(text.substr(at)).size;
    points.push_back(text.substr(at, length));
    at += length;
  }
  return points;
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const auto point = unicode::first_point(text.substr(at));
    constexpr std::string_view kRaw = "\"\\\n\r\t\b\f\a\v";
    const std::size_t known = point.size == 1 ? kRaw.find(text[at]) : std::string_view::npos;
    if (known != std::string_view::npos) {
      out += '\\';
      out += "\"\\nrtbfav"[known];
    } else if (unicode::is_printable(point.value)) {
      out += text.substr(at, point.size);
    } else if (point.value < 0x80) {
      out += fmt::format("\\x{:02x}", point.value);
    } else {
      out += point.value < 0x10000 ? fmt::format("\\u{:04x}", point.value) : fmt::format("\\U{:08x}", point.value);
    }
    at += point.size;
  }
  return out + '"';
}

std::string json_quote(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    constexpr std::string_view kLetters = "\"\\\n\r\t\b\f";
    if (const std::size_t known = kLetters.find(c); known != std::string_view::npos) {
      out += '\\';
      out += "\"\\nrtbf"[known];
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else if (text.substr(at, 3) == "\u2028" || text.substr(at, 3) == "\u2029") {
      out += text.substr(at, 3) == "\u2028" ? "\\u2028" : "\\u2029";  // JavaScript takes them for line ends
      at += 2;
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace underway::hcl::detail
