#include "hcl/detail/format_tokens.hpp"

#include "base/text.hpp"
#include "hcl/detail/lexer.hpp"
#include "unicode/unicode.hpp"

#include <algorithm>

namespace underway::hcl::detail {

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<FormatToken> run() {
    while (at_ < text_.size()) {
      if (modes_.empty() || modes_.back().kind == Mode::Kind::interpolation) {
        main();
      } else if (modes_.back().kind == Mode::Kind::quoted) {
        quoted();
      } else {
        heredoc();
      }
    }
    emit(kEnd, 0);
    return std::move(tokens_);
  }

 private:
  struct Mode {
    enum class Kind : std::uint8_t { interpolation, quoted, heredoc };
    Kind kind;
    std::size_t braces = 0;  ///< of an interpolation: how many are open within it
    std::string_view marker{};
    bool line_start = true;
  };

  void emit(std::uint16_t kind, std::size_t length) {
    tokens_.push_back({kind, text_.substr(at_, length), at_ - done_});
    at_ += length;
    done_ = at_;
  }

  bool starts(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  void main() {
    const char c = text_[at_];
    if (c == ' ' || c == '\t') {
      ++at_;
    } else if (c == '\n' || starts("\r\n")) {
      emit(kNewline, c == '\n' ? 1 : 2);
    } else if (const std::size_t comment = comment_length(); comment > 0) {
      emit(kComment, comment);
    } else if (const std::size_t name = identifier_length(text_, at_); name > 0) {
      emit(kIdentifier, name);
    } else if (is_digit(c)) {
      emit(kNumber, number_length());
    } else if (c == '"') {
      emit(kOpenQuote, 1);
      modes_.push_back({Mode::Kind::quoted});
    } else if (const std::size_t open = heredoc_length(); open > 0) {
      std::string_view marker = trim(text_.substr(at_ + 2, open - 2));
      if (marker.starts_with('-')) marker.remove_prefix(1);
      emit(kOpenHeredoc, open);
      modes_.push_back({Mode::Kind::heredoc, 0, marker});
    } else if (c == '{') {
      if (!modes_.empty()) ++modes_.back().braces;
      emit('{', 1);
    } else if (c == '}' || starts("~}")) {
      brace(c == '}' ? 1 : 2);
    } else {
      sign();
    }
  }

  void brace(std::size_t length) {
    const bool ends = !modes_.empty() && modes_.back().braces == 0;
    emit(ends || length == 2 ? std::uint16_t{kCloseSequence} : std::uint16_t{'}'}, length);
    if (ends) {
      modes_.pop_back();
    } else if (!modes_.empty()) {
      --modes_.back().braces;
    }
  }

  void sign() {
    constexpr std::string_view kPairs[] = {"==", "!=", ">=", "<=", "&&", "||"};
    if (starts("...")) return emit(kEllipsis, 3);
    if (starts("=>")) return emit(kArrow, 2);
    for (const auto pair : kPairs) {
      if (starts(pair)) return emit(kOperator, 2);
    }
    constexpr std::string_view kSigns = "[]().,*/%+-=<>!?:&|~^;`'";
    const char c = text_[at_];
    if (kSigns.find(c) != std::string_view::npos) return emit(static_cast<unsigned char>(c), 1);
    emit(kInvalid, unicode::first_point(text_.substr(at_)).size);
  }

  std::size_t comment_length() const {
    const std::string_view rest = text_.substr(at_);
    if (rest.starts_with('#') || rest.starts_with("//")) {
      const std::size_t end = rest.find('\n');
      return end == std::string_view::npos ? rest.size() : end + 1;
    }
    const std::size_t close = rest.starts_with("/*") ? rest.find("*/", 2) : std::string_view::npos;
    return close == std::string_view::npos ? 0 : close + 2;
  }

  std::size_t number_length() const {
    std::size_t end = at_ + 1;
    std::size_t good = end;  // a number does not end with its point
    while (end < text_.size()) {
      const char c = text_[end];
      const std::size_t sign = end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-') ? 1 : 0;
      if (is_digit(c)) {
        good = ++end;
      } else if (c == '.') {
        ++end;
      } else if ((c == 'e' || c == 'E') && end + 1 + sign < text_.size() && is_digit(text_[end + 1 + sign])) {
        good = end += 2 + sign;
      } else {
        break;
      }
    }
    return good - at_;
  }

  /// `<<` or `<<-`, a name and the end of the line.
  std::size_t heredoc_length() const {
    if (!starts("<<")) return 0;
    std::size_t end = at_ + (starts("<<-") ? 3 : 2);
    const std::size_t name = identifier_length(text_, end);
    if (name == 0) return 0;
    end += name;
    if (end < text_.size() && text_[end] == '\r') ++end;
    return end < text_.size() && text_[end] == '\n' ? end + 1 - at_ : 0;
  }

  bool opens_sequence(std::size_t at) const {
    return at + 1 < text_.size() && (text_[at] == '$' || text_[at] == '%') && text_[at + 1] == '{';
  }

  void open_sequence() {
    emit(kOpenSequence, at_ + 2 < text_.size() && text_[at_ + 2] == '~' ? 3 : 2);
    modes_.push_back({Mode::Kind::interpolation});
  }

  /// Past one character of a template; `$${` is three.
  std::size_t past(std::size_t at) const {
    if ((text_[at] == '$' || text_[at] == '%') && at + 1 < text_.size() && text_[at + 1] == text_[at] &&
        opens_sequence(at + 1))
      return at + 3;
    return at + 1;
  }

  void quoted() {
    if (opens_sequence(at_)) return open_sequence();
    if (text_[at_] == '"') {
      emit(kCloseQuote, 1);
      modes_.pop_back();
      return;
    }
    if (text_[at_] == '\n' || text_[at_] == '\r') {
      const std::size_t end = std::min(text_.find_first_not_of("\r\n", at_), text_.size());
      return emit(kInvalid, end - at_);
    }
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n' && text_[end] != '\r' &&
           !opens_sequence(end)) {
      const bool escape =
          text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n' && text_[end + 1] != '\r';
      end = escape ? end + 2 : past(end);
    }
    emit(kText, std::min(end, text_.size()) - at_);
  }

  void heredoc() {
    Mode& mode = modes_.back();
    if (opens_sequence(at_)) {
      mode.line_start = false;
      return open_sequence();
    }
    const std::size_t newline = text_.find('\n', at_);
    if (mode.line_start && newline != std::string_view::npos &&
        unicode::trim_space(text_.substr(at_, newline - at_)) == mode.marker) {
      const std::size_t end = newline > at_ && text_[newline - 1] == '\r' ? newline - 1 : newline;
      emit(kCloseHeredoc, end - at_);
      emit(kNewline, newline + 1 - end);
      modes_.pop_back();
      return;
    }
    std::size_t end = at_;
    while (end < text_.size() && text_[end] != '\n' && !opens_sequence(end)) end = past(end);
    end = std::min(end, text_.size());
    mode.line_start = end < text_.size() && text_[end] == '\n';
    emit(kText, end + (mode.line_start ? 1 : 0) - at_);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t done_ = 0;
  std::vector<Mode> modes_;
  std::vector<FormatToken> tokens_;
};

}  // namespace

std::vector<FormatToken> format_tokens(std::string_view text) { return Scanner(text).run(); }

}  // namespace underway::hcl::detail
