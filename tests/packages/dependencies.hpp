#pragma once
/// @file
/// docs/dependencies.md and packaging/setup, as data.

#include <string>
#include <vector>

namespace underway::harness {

/// A row of a table of the page.
struct Dependency {
  int line = 0;
  std::vector<std::string> packages;
  std::string licence;  ///< an SPDX expression; nothing where the table has no such column
};

/// Throws std::runtime_error for a row that is in no table.
std::vector<Dependency> parse_dependencies(const std::string& page);
std::vector<Dependency> dependencies();
/// What packaging/setup installs.
std::vector<std::string> packages_of_setup();

/// Whether something under this licence may be linked with a program that is distributed under Apache-2.0: by one side
/// of an OR, and both of an AND.
bool goes_with_ours(const std::string& licence);

}  // namespace underway::harness
