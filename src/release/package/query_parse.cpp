#include <fmt/format.h>

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"
#include "package/detail/query_tree.hpp"
#include "package/query.hpp"

namespace underway::package {

using detail::Condition;
using detail::NodeKind;
using detail::Pattern;
using detail::QueryNode;
using detail::Term;
using detail::TermKind;

namespace {

struct Token {
  enum class Kind : std::uint8_t { end, word, sign } kind = Kind::end;
  std::string text;    ///< of a word: without quotes; of a sign: itself, '<' and '>' as what they mean
  std::size_t at = 0;  ///< bytes before it

  bool is(std::string_view sign) const { return kind == Kind::sign && text == sign; }
};

class QueryParser {
 public:
  explicit QueryParser(std::string_view text) : text_(text) { advance(); }

  QueryNode parse() {
    if (token_.kind == Token::Kind::end) refuse("it is empty", "to select every package, write: Name");
    QueryNode out = any_of();
    if (token_.kind != Token::Kind::end) refuse(fmt::format("',' or '|' is missing before {}", shown()));
    return out;
  }

 private:
  QueryNode any_of() {
    return joined(NodeKind::any_of, "|", [this] { return all_of(); });
  }

  QueryNode all_of() {
    return joined(NodeKind::all_of, ",", [this] { return negation(); });
  }

  template <class Part>
  QueryNode joined(NodeKind kind, std::string_view sign, Part part) {
    QueryNode first = part();
    if (!token_.is(sign)) return first;
    QueryNode out;
    out.kind = kind;
    out.parts.push_back(std::move(first));
    while (token_.is(sign)) {
      advance();
      out.parts.push_back(part());
    }
    return out;
  }

  QueryNode negation() {
    bool negated = false;
    for (; token_.is("!"); advance()) negated = !negated;
    QueryNode inner = group();
    if (!negated) return inner;
    QueryNode out;
    out.kind = NodeKind::none_of;
    out.parts.push_back(std::move(inner));
    return out;
  }

  QueryNode group() {
    if (!token_.is("(")) {
      QueryNode out;
      out.term = term();
      return out;
    }
    if (++depth_ > kMaxDepth)
      refuse(fmt::format("more than {} parentheses in one another", kMaxDepth), "", Code::too_large);
    advance();
    QueryNode out = any_of();
    expect(")");
    --depth_;
    return out;
  }

  Term term() {
    if (token_.kind != Token::Kind::word) refuse(fmt::format("a package or a field is missing before {}", shown()));
    if (++terms_ > kMaxTerms) refuse(fmt::format("more than {} conditions", kMaxTerms), "", Code::too_large);
    const Token first = token_;
    Term out;
    out.word = first.text;
    advance();
    if (out.word.empty()) refuse_at(first.at, "an empty name");
    const bool capital = out.word.front() >= 'A' && out.word.front() <= 'Z';
    if (out.word.front() == '$') {
      out.kind = TermKind::special;
      check_special(first);
    } else if (capital && out.word.find('_') == std::string::npos) {
      out.kind = TermKind::field;
    } else if (!token_.is("(") && !token_.is("{") && is_reference(out.word)) {
      out.kind = TermKind::reference;
      return out;
    }
    out.condition = condition(out.kind);
    if (token_.is("{")) {
      advance();
      out.architecture = word("an architecture");
      expect("}");
    }
    return out;
  }

  /// "name_version_architecture"; versions and the architectures of rpm may have a '_' as well.
  static bool is_reference(std::string_view word) { return word.find('_') != word.rfind('_'); }

  void check_special(const Token& token) const {
    const auto& known = detail::special_fields();
    if (std::find(known.begin(), known.end(), token.text) != known.end()) return;
    const std::string near = nearest(token.text, known);
    refuse_at(token.at, fmt::format("there is no special field '{}'", token.text),
              near.empty() ? fmt::format("use one of {}", join(known, ", ")) : fmt::format("did you mean '{}'?", near));
  }

  Condition condition(TermKind kind) {
    Condition out;
    if (!token_.is("(")) return out;
    advance();
    out.comparison = Comparison::equal;
    char pattern = 0;
    if (token_.kind == Token::Kind::sign) {
      for (const auto comparison : {Comparison::less, Comparison::less_equal, Comparison::equal,
                                    Comparison::greater_equal, Comparison::greater}) {
        if (token_.is(to_string(comparison))) out.comparison = comparison;
      }
      if (token_.is("%") || token_.is("~")) pattern = token_.text.front();
      const bool known = pattern != 0 || token_.is(to_string(out.comparison));
      if (known) advance();
    }
    const std::size_t at = token_.at;
    out.value = word(kind == TermKind::name ? "a version" : "a value");
    if (pattern != 0) out.pattern = pattern_at(at, pattern, out.value);
    expect(")", "a value with blanks or any of ()|,!{} stands in quotes");
    return out;
  }

  Pattern pattern_at(std::size_t at, char sign, const std::string& text) const {
    try {
      return sign == '%' ? Pattern::glob(text) : Pattern::regex(text);
    } catch (const Error& error) {
      refuse_at(at, error.one_line(), "", error.code());
    }
  }

  std::string word(std::string_view what) {
    if (token_.kind != Token::Kind::word) refuse(fmt::format("{} is missing before {}", what, shown()));
    std::string out = std::move(token_.text);
    advance();
    return out;
  }

  void expect(std::string_view sign, std::string_view advice = "") {
    if (!token_.is(sign)) refuse(fmt::format("'{}' is missing before {}", sign, shown()), advice);
    advance();
  }

  void advance() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    token_ = {Token::Kind::end, "", at_};
    if (at_ == text_.size()) return;
    const char c = text_[at_];
    if (c == '"' || c == '\'') {
      read_quoted(c);
    } else if (std::string_view("(){}|,!=%~<>").find(c) != std::string_view::npos) {
      read_sign(c);
    } else {
      const std::size_t end = std::min(text_.find_first_of(" \t\n\r\f\v(){}|,!", at_), text_.size());
      token_.kind = Token::Kind::word;
      token_.text = text_.substr(at_, end - at_);
      at_ = end;
    }
  }

  void read_sign(char c) {
    token_.kind = Token::Kind::sign;
    token_.text = c;
    ++at_;
    if (c != '<' && c != '>') return;
    const bool twice = at_ < text_.size() && text_[at_] == c;
    if (twice || (at_ < text_.size() && text_[at_] == '=')) ++at_;
    token_.text += twice ? c : '=';
  }

  void read_quoted(char quote) {
    token_.kind = Token::Kind::word;
    for (++at_; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\') ++at_;
      if (at_ == text_.size()) break;
      token_.text += text_[at_];
    }
    if (at_ == text_.size()) refuse_at(token_.at, fmt::format("the quote {} that begins here has no end", quote));
    ++at_;
  }

  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  std::string shown() const {
    return token_.kind == Token::Kind::end ? std::string("the end") : fmt::format("'{}'", token_.text.substr(0, 60));
  }

  [[noreturn]] void refuse(const std::string& why, std::string_view advice = "", Code code = Code::invalid) const {
    refuse_at(token_.at, why, advice, code);
  }

  [[noreturn]] void refuse_at(std::size_t at, const std::string& why, std::string_view advice = "",
                              Code code = Code::invalid) const {
    const auto before = text_.substr(0, at);
    const auto column = 1 + std::count_if(before.begin(), before.end(), [](char c) {
                          return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U;  // where a character of UTF-8 begins
                        });
    Error error(code, fmt::format("cannot read the query '{}'", text_.substr(0, 200)));
    error.because(fmt::format("column {}: {}", column, why));
    if (!advice.empty()) error.advise(std::string(advice));
    throw error;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Token token_;
  std::size_t depth_ = 0, terms_ = 0;
};

}  // namespace

Query parse_query(std::string_view text) {
  if (text.size() > kMaxQuery)
    throw Error(Code::too_large, "cannot read the query")
        .because(fmt::format("it has {} bytes, {} are allowed", text.size(), kMaxQuery));
  if (!is_utf8(text) || text.find('\0') != std::string_view::npos)
    throw Error(Code::invalid, "cannot read the query").because("it is not UTF-8");
  return {std::string(text), std::make_shared<const QueryNode>(QueryParser(text).parse())};
}

}  // namespace underway::package
