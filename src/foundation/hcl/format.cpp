#include "hcl/format.hpp"

#include "base/text.hpp"
#include "hcl/detail/lexer.hpp"
#include "hcl/detail/unicode.hpp"

#include <optional>
#include <vector>

namespace underway::hcl {
namespace {

using detail::Token;
using detail::TokenKind;

/// What is never taken apart: a token, a whole quoted text, a whole heredoc, a comment.
struct Piece {
  enum class Kind : std::uint8_t { token, quoted, heredoc, comment };
  Kind kind = Kind::token;
  TokenKind token = TokenKind::end;
  std::string_view text;
  std::size_t spaces = 0;  ///< before it

  bool is(TokenKind wanted) const { return kind == Kind::token && token == wanted; }
  bool is_word(std::string_view word) const { return is(TokenKind::identifier) && text == word; }
  bool is_keyword() const { return is_word("for") || is_word("in") || is_word("if"); }
};

/// +1 for what opens, -1 for what closes.
int bracket(const Piece& piece) {
  if (piece.kind != Piece::Kind::token) return 0;
  switch (piece.token) {
    case TokenKind::open_brace:
    case TokenKind::open_bracket:
    case TokenKind::open_paren:
      return 1;
    case TokenKind::close_brace:
    case TokenKind::close_bracket:
    case TokenKind::close_paren:
      return -1;
    default:
      return 0;
  }
}

struct Line {
  std::vector<Piece> pieces;
  std::optional<std::size_t> assign;  ///< the `=` of an attribute
  int net = 0;                        ///< brackets that it opens, less those that it closes

  bool has_trailing_comment() const { return pieces.size() > 1 && pieces.back().kind == Piece::Kind::comment; }
};

/// Cuts the text into lines of pieces.
class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}

  std::vector<Line> lines() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else if (c == '\n') {
        ++at_;
        close();
      } else {
        line_.pieces.push_back(piece());
      }
    }
    if (!line_.pieces.empty()) close();
    return std::move(lines_);
  }

 private:
  void close() { lines_.push_back(std::exchange(line_, {})); }

  Piece piece() {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with('#') || rest.starts_with("//")) return comment(rest.find('\n'));
    if (rest.starts_with("/*")) {
      const std::size_t end = rest.find("*/");
      return comment(end == std::string_view::npos ? end : end + 2);
    }
    const Token token = detail::next_token(text_, at_);
    if (token.kind == TokenKind::quote) return taken(Piece::Kind::quoted, detail::skip_quoted(text_, at_) - at_, token);
    if (token.kind == TokenKind::heredoc || token.kind == TokenKind::flush_heredoc)
      return taken(Piece::Kind::heredoc, heredoc_length(rest, token), token);
    return taken(Piece::Kind::token, std::max<std::size_t>(token.end - at_, 1), token);
  }

  Piece comment(std::size_t length) {
    if (length == std::string_view::npos) length = text_.size() - at_;
    Piece out = taken(Piece::Kind::comment, length, {});
    out.text = without_end_space(out.text);
    return out;
  }

  Piece taken(Piece::Kind kind, std::size_t length, const Token& token) {
    const std::string_view text = text_.substr(at_, length);
    at_ += text.size();
    return {kind, token.kind, text};
  }

  /// To behind the marker that closes it, or to the end of the text.
  static std::size_t heredoc_length(std::string_view rest, const Token& open) {
    const std::size_t name = open.end - open.begin;
    const std::size_t named = detail::identifier_length(rest, name);
    const std::string_view marker = rest.substr(name, named);
    std::size_t line = rest.find('\n');
    while (line != std::string_view::npos) {
      const std::size_t begin = line + 1, end = rest.find('\n', begin);
      const std::string_view text = rest.substr(begin, end == std::string_view::npos ? end : end - begin);
      if (trim(text) == marker) return begin + text.find(marker) + marker.size();
      line = end;
    }
    return rest.size();
  }

  static std::string_view without_end_space(std::string_view text) {
    const std::size_t last = text.find_last_not_of(" \t\r");
    return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Line line_;
  std::vector<Line> lines_;
};

/// Whether `subject` stands before an operand, so that `-` behind it is a sign.
bool expects_operand(const Piece* subject) {
  if (subject == nullptr || subject->is_keyword()) return true;
  if (subject->kind != Piece::Kind::token) return subject->kind == Piece::Kind::comment;
  switch (subject->token) {
    case TokenKind::identifier:
    case TokenKind::number:
    case TokenKind::close_brace:
    case TokenKind::close_bracket:
    case TokenKind::close_paren:
      return false;
    default:
      return true;
  }
}

/// Whether a space belongs between `subject` and `after`; `before` stands in front of `subject`, or is null.
bool spaced(const Piece* before, const Piece& subject, const Piece& after) {
  if (subject.kind == Piece::Kind::comment || after.kind == Piece::Kind::comment) return true;
  if (after.is(TokenKind::comma) || after.is(TokenKind::ellipsis)) return false;
  if (subject.is(TokenKind::dot) || after.is(TokenKind::dot)) return false;
  if (subject.is(TokenKind::comma) || subject.is_keyword() || after.is_keyword()) {
    // `for` opens a comprehension: "[for x in y : x]".
    return !(after.is_word("for") && (subject.is(TokenKind::open_bracket)));
  }
  if (after.is(TokenKind::open_paren) && subject.is(TokenKind::identifier)) return false;
  if (after.is(TokenKind::open_bracket) && (subject.is(TokenKind::identifier) || bracket(subject) < 0)) return false;
  if (subject.is(TokenKind::bang)) return false;
  if (subject.is(TokenKind::minus) && expects_operand(before)) return false;
  if (subject.is(TokenKind::open_brace) || after.is(TokenKind::close_brace))
    return !(subject.is(TokenKind::open_brace) && after.is(TokenKind::close_brace));
  return bracket(subject) <= 0 && bracket(after) >= 0;
}

void set_spaces(Line& line) {
  for (std::size_t i = 1; i < line.pieces.size(); ++i)
    line.pieces[i].spaces = spaced(i >= 2 ? &line.pieces[i - 2] : nullptr, line.pieces[i - 1], line.pieces[i]) ? 1 : 0;
}

/// The first `=` outside of brackets, and what the line opens and closes.
void survey(Line& line) {
  for (std::size_t i = 0; i < line.pieces.size(); ++i) {
    if (line.pieces[i].is(TokenKind::assign) && line.net == 0 && !line.assign && i > 0) line.assign = i;
    line.net += bracket(line.pieces[i]);
  }
}

/// A line that opens several brackets goes one level deeper, not several; what closes them comes back in one step.
class Indenter {
 public:
  void apply(Line& line) {
    if (line.pieces.empty()) return;
    if (line.net < 0) close(-line.net);
    std::size_t depth = open_.size();
    if (line.net >= 0 && bracket(line.pieces.front()) < 0 && depth > 0) --depth;  // "}, {"
    line.pieces.front().spaces = 2 * depth;
    if (line.net > 0) open_.push_back(line.net);
  }

 private:
  void close(int count) {
    while (count > 0 && !open_.empty()) {
      const int here = std::min(count, open_.back());
      open_.back() -= here;
      count -= here;
      if (open_.back() == 0) open_.pop_back();
    }
  }

  std::vector<int> open_;
};

/// Columns that the pieces before `end` take.
std::size_t width(const Line& line, std::size_t end) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < end; ++i)
    columns += line.pieces[i].spaces + detail::count_code_points(line.pieces[i].text);
  return columns;
}

/// Sets pieces of a run of lines below each other. `place` names the piece of a line, or nothing when the line ends the
/// run; `last` says that the line is the last of its run.
template <class Place, class Last>
void align(std::vector<Line>& lines, Place place, Last last) {
  std::size_t begin = 0;
  while (begin < lines.size()) {
    std::size_t end = begin, widest = 0;
    while (end < lines.size() && place(lines[end]) &&
           lines[end].pieces.front().spaces == lines[begin].pieces.front().spaces) {
      widest = std::max(widest, width(lines[end], *place(lines[end])));
      if (last(lines[end++])) break;
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = *place(lines[i]);
      lines[i].pieces[at].spaces = widest - width(lines[i], at) + 1;
    }
    begin = std::max(end, begin + 1);
  }
}

void append(std::string& out, const Line& line) {
  for (const auto& piece : line.pieces) {
    out.append(piece.spaces, ' ');
    out += piece.text;
  }
  out += '\n';
}

}  // namespace

std::string format(std::string_view text) {
  std::vector<Line> lines = Cutter(text).lines();
  Indenter indenter;
  for (auto& line : lines) {
    survey(line);
    set_spaces(line);
    indenter.apply(line);
  }
  align(lines, [](const Line& line) { return line.assign; }, [](const Line& line) { return line.net > 0; });
  align(
      lines,
      [](const Line& line) {
        return line.has_trailing_comment() ? std::optional(line.pieces.size() - 1) : std::nullopt;
      },
      [](const Line&) { return false; });
  while (!lines.empty() && lines.back().pieces.empty()) lines.pop_back();
  std::string out;
  out.reserve(text.size());
  for (const auto& line : lines) append(out, line);
  return out;
}

}  // namespace underway::hcl
