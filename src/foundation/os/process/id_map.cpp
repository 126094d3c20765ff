#include "os/process/id_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::os {
namespace {

IdRange parse_range(std::string_view line) {
  std::uint32_t numbers[3];
  std::string_view rest = line;
  for (auto& number : numbers) {
    const auto parsed = parse_leading_number<std::uint32_t>(trim(rest));
    if (!parsed)
      throw Error(Code::invalid, "cannot read a map of ids").because(fmt::format("'{}' is no line of one", line));
    number = parsed->value;
    rest = parsed->rest;
  }
  return {numbers[0], numbers[1], numbers[2]};
}

}  // namespace

IdMap parse_id_map(std::string_view text) {
  IdMap map;
  for (const auto& line : split(text, '\n')) {
    if (!trim(line).empty()) map.push_back(parse_range(trim(line)));
  }
  return map;
}

std::string to_text(const IdMap& map) {
  std::string text;
  for (const auto& range : map) text += fmt::format("{} {} {}\n", range.inside, range.outside, range.count);
  return text;
}

std::optional<std::uint32_t> find_outside(const IdMap& map, std::uint32_t inside) {
  for (const auto& range : map) {
    if (inside >= range.inside && inside - range.inside < range.count) return range.outside + (inside - range.inside);
  }
  return std::nullopt;
}

bool is_identity(const IdMap& map) {
  return std::all_of(map.begin(), map.end(), [](const IdRange& range) { return range.inside == range.outside; });
}

}  // namespace underway::os
