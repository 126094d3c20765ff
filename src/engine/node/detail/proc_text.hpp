#pragma once
/// @file
/// "key : value" lines, as /proc/cpuinfo and /proc/meminfo have them, and KEY="value" lines of os-release(5).

#include <string>
#include <string_view>

#include "base/text.hpp"

namespace underway::node::detail {

/// The first line's value; empty when no line has the key.
inline std::string proc_field(std::string_view text, std::string_view key, char separator = ':') {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    const std::size_t at = line.find(separator);
    if (at == std::string_view::npos || trim(line.substr(0, at)) != key) continue;
    std::string_view value = trim(line.substr(at + 1));
    if (value.size() >= 2 && value.front() == value.back() && (value.front() == '"' || value.front() == '\''))
      value = value.substr(1, value.size() - 2);
    return std::string(value);
  }
  return {};
}

}  // namespace underway::node::detail
