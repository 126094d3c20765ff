#pragma once
/// @file
/// Tokens of the structural and expression languages, read on demand: what follows a quote or a heredoc's marker is
/// not tokens, and only the parser knows when it returns to them.

#include <cstdint>
#include <string_view>

namespace underway::hcl::detail {

enum class TokenKind : std::uint8_t {
  end,
  newline,
  identifier,
  number,
  quote,
  heredoc,
  flush_heredoc,
  open_brace,
  close_brace,
  strip_close_brace,
  open_bracket,
  close_bracket,
  open_paren,
  close_paren,
  comma,
  dot,
  ellipsis,
  colon,
  question,
  assign,
  arrow,
  plus,
  minus,
  star,
  slash,
  percent,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  both,
  either,
  bang,
  invalid
};

struct Token {
  TokenKind kind = TokenKind::end;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::string_view text{};
};

/// The token at or after `at`; spaces and comments before it are skipped. A line comment's end is a newline token.
/// `invalid` for what starts no token, and for a comment that does not end.
Token next_token(std::string_view text, std::size_t at);

/// For messages: "'}'", "the end of the line", "identifier 'x'".
std::string_view spell(TokenKind kind);

/// Length of the identifier at `at`, 0 if there is none.
std::size_t identifier_length(std::string_view text, std::size_t at);

/// The end of what the quote at `at` opens, nested interpolations included; the end of its line when it is not closed.
std::size_t skip_quoted(std::string_view text, std::size_t at);

}  // namespace underway::hcl::detail
