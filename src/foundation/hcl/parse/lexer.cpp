#include "hcl/detail/lexer.hpp"

#include "base/json/enumerators.hpp"
#include "base/text.hpp"
#include "unicode/unicode.hpp"

#include <algorithm>
#include <vector>

namespace underway::hcl::detail {

namespace {

bool is_ascii_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/// The end of the number at `at`: all digits, points and exponents in a row, as "1.2.3" is no number and nothing else.
/// A point at the end is not its own.
std::size_t number_end(std::string_view text, std::size_t at) {
  std::size_t good = ++at;
  while (at < text.size()) {
    const char c = text[at];
    const std::size_t sign = at + 1 < text.size() && (text[at + 1] == '+' || text[at + 1] == '-') ? 1 : 0;
    if (is_digit(c)) {
      good = ++at;
    } else if (c == '.') {
      ++at;
    } else if ((c == 'e' || c == 'E') && at + 1 + sign < text.size() && is_digit(text[at + 1 + sign])) {
      good = at += 2 + sign;
    } else {
      break;
    }
  }
  return good;
}

/// Past spaces and comments. `at` stays on a comment that does not end.
std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (c == ' ' || c == '\t' || (c == '\r' && next == '\n')) {
      ++at;
    } else if (c == '#' || (c == '/' && next == '/')) {
      const std::size_t newline = text.find('\n', at);
      at = newline == std::string_view::npos ? text.size() : newline;
    } else if (c == '/' && next == '*') {
      const std::size_t close = text.find("*/", at + 2);
      if (close == std::string_view::npos) return at;
      at = close + 2;
    } else {
      return at;
    }
  }
  return at;
}

struct Spelling {
  TokenKind kind;
  std::size_t length;
};

Spelling operator_at(std::string_view rest) {
  const char next = rest.size() > 1 ? rest[1] : '\0';
  const auto either = [&](char want, TokenKind longer, TokenKind shorter) {
    return next == want ? Spelling{longer, 2} : Spelling{shorter, 1};
  };
  switch (rest[0]) {
    case '\n':
      return {TokenKind::newline, 1};
    case '"':
      return {TokenKind::quote, 1};
    case '{':
      return {TokenKind::open_brace, 1};
    case '}':
      return {TokenKind::close_brace, 1};
    case '~':
      return either('}', TokenKind::strip_close_brace, TokenKind::invalid);
    case '[':
      return {TokenKind::open_bracket, 1};
    case ']':
      return {TokenKind::close_bracket, 1};
    case '(':
      return {TokenKind::open_paren, 1};
    case ')':
      return {TokenKind::close_paren, 1};
    case ',':
      return {TokenKind::comma, 1};
    case '.':
      return rest.starts_with("...") ? Spelling{TokenKind::ellipsis, 3} : Spelling{TokenKind::dot, 1};
    case ':':
      return {TokenKind::colon, 1};
    case '?':
      return {TokenKind::question, 1};
    case '=':
      return next == '>' ? Spelling{TokenKind::arrow, 2} : either('=', TokenKind::equal, TokenKind::assign);
    case '+':
      return {TokenKind::plus, 1};
    case '-':
      return {TokenKind::minus, 1};
    case '*':
      return {TokenKind::star, 1};
    case '/':
      return {next == '*' ? TokenKind::invalid : TokenKind::slash, 1};
    case '%':
      return {TokenKind::percent, 1};
    case '!':
      return either('=', TokenKind::not_equal, TokenKind::bang);
    case '<':
      if (next == '<')
        return rest.starts_with("<<-") ? Spelling{TokenKind::flush_heredoc, 3} : Spelling{TokenKind::heredoc, 2};
      return either('=', TokenKind::less_equal, TokenKind::less);
    case '>':
      return either('=', TokenKind::greater_equal, TokenKind::greater);
    case '&':
      return either('&', TokenKind::both, TokenKind::invalid);
    case '|':
      return either('|', TokenKind::either, TokenKind::invalid);
    default:
      return {TokenKind::invalid, 1};
  }
}

}  // namespace

std::size_t identifier_length(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size()) {
    const char c = text[end];
    if (is_ascii_start(c) || (end > at && (is_digit(c) || c == '-'))) {
      ++end;
    } else if (static_cast<unsigned char>(c) >= 0x80) {
      const auto point = unicode::first_point(text.substr(end));
      if (!(end > at ? unicode::is_identifier_part(point.value) : unicode::is_identifier_start(point.value))) break;
      end += point.size;
    } else {
      break;
    }
  }
  return end - at;
}

Token next_token(std::string_view text, std::size_t at) {
  at = skip_space(text, at);
  const auto token = [&](TokenKind kind, std::size_t length) {
    return Token{kind, at, at + length, text.substr(at, length)};
  };
  if (at >= text.size()) return {TokenKind::end, text.size(), text.size(), {}};
  if (const std::size_t length = identifier_length(text, at); length > 0) return token(TokenKind::identifier, length);
  if (is_digit(text[at])) return token(TokenKind::number, number_end(text, at) - at);
  const Spelling found = operator_at(text.substr(at));
  const bool wide = found.kind == TokenKind::invalid && static_cast<unsigned char>(text[at]) >= 0x80;
  return token(found.kind, wide ? unicode::first_point(text.substr(at)).size : found.length);
}

std::string_view spell(TokenKind kind) {
  constexpr std::string_view kSpellings[] = {"the end of the text",
                                             "the end of the line",
                                             "an identifier",
                                             "a number",
                                             "a string",
                                             "a heredoc",
                                             "a heredoc",
                                             "'{'",
                                             "'}'",
                                             "'~}'",
                                             "'['",
                                             "']'",
                                             "'('",
                                             "')'",
                                             "','",
                                             "'.'",
                                             "'...'",
                                             "':'",
                                             "'?'",
                                             "'='",
                                             "'=>'",
                                             "'+'",
                                             "'-'",
                                             "'*'",
                                             "'/'",
                                             "'%'",
                                             "'=='",
                                             "'!='",
                                             "'<'",
                                             "'<='",
                                             "'>'",
                                             "'>='",
                                             "'&&'",
                                             "'||'",
                                             "'!'",
                                             "a character that has no meaning here"};
  static_assert(std::size(kSpellings) == kEnumerators<TokenKind>);
  return kSpellings[static_cast<std::size_t>(kind)];
}

std::size_t skip_quoted(std::string_view text, std::size_t at) {
  // What is open: a quote or an interpolation's brace. Only counts; the parser has judged or will judge the contents.
  std::vector<char> open = {'"'};
  const std::size_t line_end = std::min(text.find('\n', at), text.size());
  ++at;
  while (at < text.size() && !open.empty()) {
    const char c = text[at];
    const char next = at + 1 < text.size() ? text[at + 1] : '\0';
    if (open.back() == '"') {
      if (c == '\n') return at;
      if (c == '\\' && next != '\n') {
        ++at;
      } else if (c == '"') {
        open.pop_back();
      } else if ((c == '$' || c == '%') && next == c && at + 2 < text.size() && text[at + 2] == '{') {
        at += 2;
      } else if ((c == '$' || c == '%') && next == '{') {
        open.push_back('{');
        ++at;
      }
    } else if (c == '"') {
      open.push_back('"');
    } else if (c == '{') {
      open.push_back('{');
    } else if (c == '}') {
      open.pop_back();
    }
    ++at;
  }
  return open.empty() ? std::min(at, text.size()) : line_end;
}

}  // namespace underway::hcl::detail
