#include "packages/dependencies.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "harness/command.hpp"
#include "harness/places.hpp"

namespace underway::harness {
namespace {

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at; (at = text.find(by, from)) != std::string::npos; from = at + by.size())
    parts.push_back(text.substr(from, at - from));
  parts.push_back(text.substr(from));
  return parts;
}

/// What stands between backquotes.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  const auto parts = split(cell, "`");
  for (std::size_t i = 1; i < parts.size(); i += 2) names.push_back(parts[i]);
  return names;
}

}  // namespace

std::vector<Dependency> parse_dependencies(const std::string& page) {
  std::vector<Dependency> found;
  std::vector<std::string> columns;
  std::istringstream in(page);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (!line.starts_with("| ")) columns.clear();
    if (!line.starts_with("| ") || line.starts_with("| ---")) continue;
    const auto cells = split(line.substr(2, line.size() - 4), " | ");
    if (cells[0] == "package") {
      columns = cells;
      continue;
    }
    if (cells.size() != columns.size())
      throw std::runtime_error("docs/dependencies.md:" + std::to_string(number) + ": this row is in no table");
    found.push_back({number, names_in(cells[0]), columns[1] == "licence" ? cells[1] : ""});
  }
  return found;
}

std::vector<Dependency> dependencies() { return parse_dependencies(read_text(source_dir() + "/docs/dependencies.md")); }

std::vector<std::string> packages_of_setup() {
  const std::string script = read_text(source_dir() + "/packaging/setup");
  std::vector<std::string> packages;
  for (const std::string variable : {"\nbuild=\"", "\nrun=\""}) {
    const std::size_t begin = script.find(variable) + variable.size();
    std::istringstream words(script.substr(begin, script.find('"', begin) - begin));
    for (std::string word; words >> word;) packages.push_back(word);
  }
  return packages;
}

bool goes_with_ours(const std::string& licence) {
  static const std::set<std::string> good = {"Apache-2.0",
                                             "BSD-2-Clause",
                                             "BSD-3-Clause",
                                             "BSL-1.0",
                                             "LGPL-2.1-only",
                                             "LGPL-2.1-or-later",
                                             "MIT",
                                             "MIT WITH fmt-exception",
                                             "Unicode-DFS-2015",
                                             "Zlib",
                                             "blessing",
                                             "curl",
                                             "GPL-3.0-or-later WITH GCC-exception-3.1"};
  const auto all_of = [](const std::string& side) {
    const auto parts = split(side, " AND ");
    return std::all_of(parts.begin(), parts.end(), [](const std::string& part) { return good.contains(part); });
  };
  const auto sides = split(licence, " OR ");
  return std::any_of(sides.begin(), sides.end(), all_of);
}

}  // namespace underway::harness
