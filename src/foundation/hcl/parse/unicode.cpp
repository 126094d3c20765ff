#include "hcl/detail/unicode.hpp"

#include <fmt/format.h>

#include "base/numbers.hpp"
#include "unicode/unicode.hpp"

namespace underway::hcl::detail {

std::optional<std::uint32_t> parse_hex(std::string_view digits, std::size_t count) {
  return digits.size() < count ? std::nullopt : parse_number<std::uint32_t>(digits.substr(0, count), 16);
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

}  // namespace underway::hcl::detail
