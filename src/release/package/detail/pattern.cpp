#include "package/detail/pattern.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <optional>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"
#include "package/query.hpp"

namespace underway::package::detail {

namespace {

[[noreturn]] void refuse_glob(std::string_view glob, std::string_view why) {
  throw Error(Code::invalid, fmt::format("'{}' is no pattern: {}", glob, why));
}

/// Writes a glob as a regular expression. Source: Go's path/filepath.Match, which aptly uses.
class GlobReader {
 public:
  explicit GlobReader(std::string_view glob) : glob_(glob), rest_(glob) {}

  std::string read() {
    std::string out = "\\A(?:";
    while (!rest_.empty()) {
      switch (rest_.front()) {
        case '*':
          out += "[^/]*";
          rest_.remove_prefix(1);
          break;
        case '?':
          out += "[^/]";
          rest_.remove_prefix(1);
          break;
        case '[':
          rest_.remove_prefix(1);
          out += one_of();
          break;
        default:
          out += quoted(character());
      }
    }
    return out + ")\\z";
  }

 private:
  std::string one_of() {
    std::string out = "[";
    if (rest_.starts_with('^')) {
      out += '^';
      rest_.remove_prefix(1);
    }
    bool any = false;
    while (!rest_.starts_with(']') || !any) {
      if (rest_.empty()) refuse_glob(glob_, "']' is missing");
      if (rest_.front() == ']' || rest_.front() == '-')
        refuse_glob(glob_, "a character is missing between '[' and ']'");
      out += quoted(character());
      any = true;
      if (!rest_.starts_with('-')) continue;
      rest_.remove_prefix(1);
      if (rest_.empty() || rest_.front() == ']') refuse_glob(glob_, "a character is missing behind '-'");
      out += "-" + quoted(character());
    }
    rest_.remove_prefix(1);
    return out + "]";
  }

  /// Takes one, which a backslash may stand before.
  std::string_view character() {
    if (rest_.front() == '\\') {
      rest_.remove_prefix(1);
      if (rest_.empty()) refuse_glob(glob_, "it ends with a backslash");
    }
    const std::size_t size = utf8_size(rest_);
    if (size == 0) refuse_glob(glob_, "it is not UTF-8");
    const std::string_view out = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return out;
  }

  static std::string quoted(std::string_view character) {
    return RE2::QuoteMeta(re2::StringPiece(character.data(), character.size()));
  }

  std::string_view glob_;
  std::string_view rest_;
};

void check_length(std::string_view text) {
  if (text.size() > kMaxPattern)
    throw Error(Code::too_large, fmt::format("a pattern has {} bytes, {} are allowed", text.size(), kMaxPattern));
}

}  // namespace

Pattern::Pattern(std::string_view what, std::string_view expression) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(std::int64_t{1} << 20);
  auto regex = std::make_shared<const RE2>(re2::StringPiece(expression.data(), expression.size()), options);
  if (!regex->ok()) throw Error(Code::invalid, fmt::format("'{}' is no regular expression: {}", what, regex->error()));
  regex_ = std::move(regex);
}

Pattern Pattern::glob(std::string_view text) {
  check_length(text);
  return {text, GlobReader(text).read()};
}

Pattern Pattern::regex(std::string_view text) {
  check_length(text);
  return {text, text};
}

bool Pattern::matches(std::string_view text) const {
  return RE2::PartialMatch(re2::StringPiece(text.data(), text.size()), *regex_);
}

}  // namespace underway::package::detail
