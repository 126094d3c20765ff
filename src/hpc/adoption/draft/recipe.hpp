#pragma once
/// @file
/// How the known programs run inside a capsule: in the foreground, with a command that tells when they can be used.

#include <string_view>
#include <vector>

namespace underway::adoption {

struct Recipe {
  std::vector<std::string_view> programs;  ///< as a survey names them
  std::string_view name;
  std::string_view user;
  std::vector<std::string_view> command;
  std::vector<std::string_view> ready;
  std::string_view stop_timeout;
  std::vector<std::string_view> packages;       ///< Debian's
  std::vector<std::string_view> configuration;  ///< beside what its package says
  std::string_view note;
};

const Recipe* find_recipe(std::string_view program);

}  // namespace underway::adoption
