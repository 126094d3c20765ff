#pragma once
/// @file
/// Small texts of exported files: names of files from names of others, words of a shell, blocks of HCL.

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

namespace underway::migrate {

/// One part of a path, whatever the name is: letters, digits, `-`, `_` and dots that do not begin it stay; the rest
/// becomes %XX. Never empty.
std::string file_name(std::string_view name);
/// In single quotes, fit for a POSIX shell.
std::string shell_word(std::string_view text);
/// As a string of HCL, in which nothing is a template.
std::string hcl_string(std::string_view text);
/// `key = value` lines of an object of texts, numbers, booleans, lists and objects, `depth` blanks in. Objects whose
/// keys are names become blocks.
std::string hcl_members(const boost::json::object& object, std::size_t depth = 0);

}  // namespace underway::migrate
