#pragma once
/// @file
/// Globs and regular expressions of queries, both by RE2: they take linear time and bounded memory, whoever wrote them.

#include <memory>
#include <string_view>

namespace re2 {
class RE2;
}

namespace underway::package::detail {

class Pattern {
 public:
  /// Of the whole text: '*' is any run of characters but '/', '?' one that is not '/', "[a-c]" and "[^a-c]" one of or
  /// not of these, and a backslash takes the next character as it is. Errors: invalid.
  static Pattern glob(std::string_view text);
  /// Of any part of the text, in RE2's syntax, which is Go's. Errors: invalid.
  static Pattern regex(std::string_view text);

  bool matches(std::string_view text) const;

 private:
  Pattern(std::string_view what, std::string_view expression);
  std::shared_ptr<const re2::RE2> regex_;
};

}  // namespace underway::package::detail
