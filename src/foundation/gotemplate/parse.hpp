#pragma once
/// @file
/// Text to template: Go's text/template language, as of Go 1.26.

#include "gotemplate/functions.hpp"

#include <memory>
#include <string>
#include <vector>

namespace underway::gotemplate {

struct Program;

struct ParseOptions {
  std::string left_delimiter = "{{";   ///< empty: the default
  std::string right_delimiter = "}}";  ///< empty: the default
  bool accept_refused = false;         ///< for who only looks: a function that is refused by name is no error
  std::size_t* failed_at = nullptr;    ///< not null: where in the text the error is
};

/// A parsed text with the templates that it defines. Cheap to copy.
class Template {
 public:
  explicit Template(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  const std::string& name() const;
  /// Names given by `define` and `block`, and its own; sorted.
  std::vector<std::string> names() const;
  const Program& program() const { return *program_; }

 private:
  std::shared_ptr<const Program> program_;
};

/// `functions` must outlive the template. Limits: blocks and parentheses 250 deep, a text of 16 MiB.
/// Errors: invalid in Go's words ("template: NAME:LINE: …"), with the line; for a function that does not exist the one
/// that was probably meant, for one that is refused what to use in its place.
Template parse(std::string name, std::string text, const FunctionSet& functions, const ParseOptions& options = {});

/// A place where a function stands.
struct FunctionUse {
  const Function* function = nullptr;
  std::size_t line = 1;    ///< from 1
  std::size_t column = 1;  ///< from 1, in bytes
};
/// Every function that stands in the template, in the order of the text.
std::vector<FunctionUse> functions_in(const Template& entry);

}  // namespace underway::gotemplate
