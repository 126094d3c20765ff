#pragma once
/// @file
/// A text as the formatter sees it: every byte but the blanks between tokens, templates taken apart as well.

#include <cstdint>
#include <string_view>
#include <vector>

namespace underway::hcl::detail {

/// Below 256 a character that stands for itself.
enum FormatKind : std::uint16_t {
  kNothing = 0,
  kIdentifier = 256,
  kNumber,
  kNewline,
  kComment,  ///< with its line end, unless it is in `/*` and `*/`
  kOpenQuote,
  kCloseQuote,
  kText,  ///< of a quoted template or of a heredoc
  kOpenHeredoc,
  kCloseHeredoc,
  kOpenSequence,  ///< `${` and `%{`, also with `~`
  kCloseSequence,
  kEllipsis,
  kArrow,
  kOperator,  ///< `==`, `!=`, `<=`, `>=`, `&&`, `||`
  kEnd,
  kInvalid
};

struct FormatToken {
  std::uint16_t kind = kNothing;
  std::string_view text{};
  std::size_t spaces = 0;  ///< before it
};

/// The last one is kEnd. Never fails.
std::vector<FormatToken> format_tokens(std::string_view text);

}  // namespace underway::hcl::detail
