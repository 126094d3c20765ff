#pragma once
/// @file
/// Variables as people write and read them: specifications in HCL or JSON, items as words, and what `var get` prints.

#include "model/access/variable.hpp"

#include <functional>

namespace underway::cli {

/// A specification: what `var put @FILE` reads.
struct VariableSpec {
  std::string ns, path;  ///< empty when not given
  model::StringMap items;
  model::Revision modify_index = 0;                                 ///< of a specification that `var get` wrote
  std::int64_t create_index = 0, create_time = 0, modify_time = 0;  ///< as `nomad var get -out hcl` writes them; unused
};
/// HCL, or JSON when it begins with '{'. Throws invalid with the places of errors, never with the lines: they may hold
/// secrets.
VariableSpec parse_variable_spec(const std::string& text, const std::string& name);

/// How words name what is not on the command line.
struct Readers {
  std::function<std::string(const std::string& path)> file;
  std::function<std::string()> input;
};
/// "key=value", "key=@file", "key=-" (standard input); "key=\@x" is the text "@x". Throws invalid without the value.
std::pair<std::string, std::string> parse_item(const std::string& word, const Readers& readers);

/// For `var put @FILE`, and read back by it. With its index it is then written only over what was read.
std::string variable_as_hcl(const model::OpenVariable& variable, bool with_index = false);
std::string variable_as_table(const model::OpenVariable& variable);

}  // namespace underway::cli
