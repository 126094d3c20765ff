#include "conformance/lines.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "harness/places.hpp"

#include <fstream>

namespace underway::conformance {
namespace {

Line fields_of(const std::string& text) {
  static constexpr std::string_view kDivider = " |";
  Line fields;
  std::size_t begin = 0;
  for (std::size_t at = text.find(kDivider); at != std::string::npos; at = text.find(kDivider, begin)) {
    fields.emplace_back(trim(std::string_view(text).substr(begin, at - begin)));
    begin = at + kDivider.size();
  }
  fields.emplace_back(trim(std::string_view(text).substr(begin)));
  return fields;
}

}  // namespace

std::vector<Line> read_lines(const std::string& name, std::size_t fields) {
  const std::string path = source_dir() + "/tests/conformance/" + name;
  std::ifstream in(path);
  if (!in) throw Error(Code::not_found, path + " cannot be read");
  std::vector<Line> lines;
  for (std::string text; std::getline(in, text);) {
    if (trim(text).empty() || text.starts_with('#')) continue;
    lines.push_back(fields_of(text));
    if (lines.back().size() < fields)
      throw Error(Code::invalid, fmt::format("{}: '{}' has {} fields of {}", path, text, lines.back().size(), fields));
  }
  return lines;
}

std::string cell(const std::string& text) { return join(split(join(split(text, '|'), "\\|"), '\n'), " "); }

}  // namespace underway::conformance
