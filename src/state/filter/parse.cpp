// Reads an expression in one pass: what go-bexpr's grammar finds by trying again is decided by looking ahead here.
#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "filter/detail/tree.hpp"

#include <fmt/format.h>

namespace underway::filter::detail {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '/'; }

/// What stands left or right of an operator: a selector, a value, or something that may be either.
struct Operand {
  std::string raw;
  std::optional<std::vector<std::string>> path;
  std::size_t at = 0;
};

/// "/Meta/a~1b" as parts (RFC 6901); nothing when it is no pointer.
std::optional<std::vector<std::string>> parse_pointer(std::string_view text) {
  if (!text.starts_with('/')) return std::nullopt;
  std::vector<std::string> parts;
  while (!text.empty()) {
    text.remove_prefix(1);
    const std::size_t end = std::min(text.find('/'), text.size());
    std::string part;
    for (std::size_t i = 0; i < end; ++i) {
      const char c = text[i];
      const bool allowed = is_letter(c) || is_digit(c) ||
                           std::string_view("-_.~:|").find(c) != std::string_view::npos ||
                           static_cast<unsigned char>(c) >= 0x80;
      if (!allowed) return std::nullopt;
      const bool escape = c == '~' && i + 1 < end && (text[i + 1] == '0' || text[i + 1] == '1');
      part += escape ? (text[++i] == '0' ? '~' : '/') : c;
    }
    if (part.empty()) return std::nullopt;
    parts.push_back(std::move(part));
    text.remove_prefix(end);
  }
  return parts;
}

void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
  } else if (c < 0x10000) {
    out += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
            static_cast<char>(0x80 | (c & 0x3F))};
  } else {
    out += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
            static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
  }
}

/// `digits` of a number to `base`, at the front of `text`.
std::optional<std::uint32_t> number_of(std::string_view text, std::size_t digits, int base) {
  return text.size() < digits ? std::nullopt : parse_number<std::uint32_t>(text.substr(0, digits), base);
}

/// Go's escapes (its language specification, "Rune literals"), between double quotes; nothing when one is wrong.
std::optional<std::string> unquote(std::string_view text) {
  static constexpr std::string_view kLetters = "abfnrtv\\\"", kMeanings = "\a\b\f\n\r\t\v\\\"";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return std::nullopt;
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    const char c = text[i];
    if (const auto letter = kLetters.find(c); letter != std::string_view::npos) {
      out += kMeanings[letter];
      continue;
    }
    const bool octal = c >= '0' && c <= '7';
    const std::size_t digits = octal ? 3 : c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    const auto value = digits == 0 ? std::nullopt : number_of(text.substr(i + (octal ? 0 : 1)), digits, octal ? 8 : 16);
    const bool byte = octal || c == 'x';
    const bool wrong = !value || (byte ? *value > 0xFF : *value > 0x10FFFF || (*value >= 0xD800 && *value < 0xE000));
    if (wrong) return std::nullopt;
    if (byte)
      out += static_cast<char>(*value);
    else
      append_utf8(out, *value);
    i += digits - (octal ? 1 : 0);
  }
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Node whole() {
    if (text_.size() > kLongest)
      throw Error(Code::invalid, "the filter expression is too long")
          .because(fmt::format("it has {} bytes, {} are allowed", text_.size(), kLongest));
    Node node = disjunction(0);
    skip_space();
    if (at_ < text_.size()) fail("\"and\", \"or\" or the end");
    return node;
  }

 private:
  [[noreturn]] void fail_with(const std::string& why, std::size_t at) const {
    std::size_t line = 1, column = 1;
    for (const char c : text_.substr(0, at)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n' ? 1 : 0;
    }
    throw Error(Code::invalid, fmt::format("{}:{} ({}): {}", line, column, at, why));
  }
  [[noreturn]] void fail(std::string_view expected) const {
    fail_with(fmt::format("no match found, expected {}", expected), at_);
  }

  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  /// Takes `word` with the blanks before it, if it stands there alone.
  bool take_word(std::string_view word) {
    const std::size_t before = at_;
    skip_space();
    if (text_.substr(at_).starts_with(word) && !is_name(peek(word.size()))) {
      at_ += word.size();
      return true;
    }
    at_ = before;
    return false;
  }
  bool take_words(std::string_view first, std::string_view second) {
    const std::size_t before = at_;
    if (take_word(first) && take_word(second)) return true;
    at_ = before;
    return false;
  }
  bool take(std::string_view symbol) {
    const std::size_t before = at_;
    skip_space();
    if (text_.substr(at_).starts_with(symbol)) {
      at_ += symbol.size();
      return true;
    }
    at_ = before;
    return false;
  }

  /// `and`, `or` and what they join, as one node of many parts: a long row of them is not deep.
  Node joined(Node::Kind kind, std::string_view word, std::size_t depth, Node (Parser::*operand)(std::size_t)) {
    Node first = (this->*operand)(depth);
    if (!take_word(word)) return first;
    Node node;
    node.kind = kind;
    node.parts.push_back(std::move(first));
    do node.parts.push_back((this->*operand)(depth));
    while (take_word(word));
    return node;
  }
  Node disjunction(std::size_t depth) { return joined(Node::Kind::any_of, "or", depth, &Parser::conjunction); }
  Node conjunction(std::size_t depth) { return joined(Node::Kind::all_of, "and", depth, &Parser::negation); }

  Node negation(std::size_t depth) {
    if (depth > kDeepest) fail_with(fmt::format("more than {} levels", kDeepest), at_);
    const std::size_t before = at_;
    if (take_word("not")) {
      skip_space();
      // A field may be called "not".
      if (!operator_follows()) {
        Node node;
        node.kind = Node::Kind::negation;
        node.parts.push_back(negation(depth + 1));
        return node;
      }
      at_ = before;
    }
    return grouping(depth);
  }

  Node grouping(std::size_t depth) {
    skip_space();
    if (take("(")) {
      Node node = disjunction(depth + 1);
      if (!take(")")) fail_with("Unmatched parentheses", at_);
      return node;
    }
    if (auto node = collection(depth)) return std::move(*node);
    return match();
  }

  /// all LIST as name { … }, any MAP as key, value { … }
  std::optional<Node> collection(std::size_t depth) {
    const std::size_t before = at_;
    Node node;
    node.kind = take_word("all") ? Node::Kind::every : Node::Kind::some;
    if (node.kind == Node::Kind::some && !take_word("any")) return std::nullopt;
    skip_space();
    const bool selects = !operator_follows() && (is_letter(peek()) || peek() == '"');
    const auto list = selects ? std::optional(operand()) : std::nullopt;
    if (!list || !list->path || !take_word("as")) {  // a field that is called so
      at_ = before;
      return std::nullopt;
    }
    node.selector = selector(*list->path);
    node.first = loop_name();
    if (take(",")) node.second = loop_name();
    if (!node.second.empty() && node.first == node.second)
      fail_with(fmt::format("\"{}\" cannot be used as a placeholder for both the index and the value", node.first),
                at_);
    if (!take("{")) fail("\"{\"");
    node.parts.push_back(disjunction(depth + 1));
    if (!take("}")) fail("\"}\"");
    return node;
  }

  std::string loop_name() {
    skip_space();
    const std::size_t begin = at_;
    if (peek() == '_')
      ++at_;
    else
      while (is_name(peek())) ++at_;
    if (at_ == begin || is_digit(text_[begin])) {
      at_ = begin;
      fail("a name");
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  bool operator_follows() {
    const std::size_t before = at_;
    const bool follows = take("==") || take("!=") || take_word("is") || take_word("in") || take_words("not", "in") ||
                         take_word("contains") || take_words("not", "contains") || take_word("matches") ||
                         take_words("not", "matches");
    at_ = before;
    return follows;
  }

  Node match() {
    if (++matches_ > kMostMatches) fail_with(fmt::format("more than {} comparisons", kMostMatches), at_);
    const Operand left = operand();
    Node node;
    const bool not_in = take_words("not", "in");
    if (not_in || take_word("in")) {
      node.operation = Operator::in;
      node.negated = not_in;
      node.value = literal(left.raw);
      skip_space();
      const std::size_t at = at_;
      const Operand right = operand();
      if (!right.path) fail_with("Invalid selector", at);
      node.selector = selector(*right.path);
      return node;
    }
    if (!left.path) {
      at_ = left.at;
      fail("a selector");
    }
    node.selector = selector(*left.path);
    if (take_word("is")) {
      node.operation = Operator::is_empty;
      node.negated = take_word("not");
      if (!take_word("empty")) fail("\"empty\" or \"not empty\"");
      return node;
    }
    comparison(node);
    skip_space();
    const std::size_t at = at_;
    node.value = literal(operand().raw);
    if (node.operation == Operator::matches) compile(node.value, at);
    return node;
  }

  void comparison(Node& node) {
    if (take("==")) return;
    node.negated = take("!=");
    if (node.negated) return;
    node.negated = take_word("not");
    if (take_word("contains"))
      node.operation = Operator::in;
    else if (take_word("matches"))
      node.operation = Operator::matches;
    else
      fail("==, !=, in, contains, matches, is empty or one of them with not");
  }

  void compile(Literal& value, std::size_t at) {
    if (++patterns_ > kMostPatterns) fail_with(fmt::format("more than {} patterns", kMostPatterns), at);
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(1 << 20);
    value.pattern = std::make_unique<re2::RE2>(value.raw, options);
    if (!value.pattern->ok())
      fail_with(fmt::format("Failed to compile regular expression \"{}\": {}", value.raw, value.pattern->error()), at);
  }

  static Selector selector(std::vector<std::string> path) {
    Selector out;
    out.seen.resize(path.size());
    out.path = std::move(path);
    return out;
  }

  Operand operand() {
    skip_space();
    Operand out;
    out.at = at_;
    const char c = peek();
    if (is_letter(c)) {
      out.path = dotted();
      for (const auto& part : *out.path) out.raw += (out.raw.empty() ? "" : ".") + part;
    } else if (c == '"' || c == '`') {
      out.raw = quoted();
      if (c == '"') out.path = parse_pointer(out.raw);
    } else if (c == '-' || is_digit(c)) {
      out.raw = number();
    } else {
      fail("a selector, a string or a number");
    }
    return out;
  }

  std::vector<std::string> dotted() {
    std::vector<std::string> path{name()};
    while (true) {
      if (peek() == '.' && (is_letter(peek(1)) || is_digit(peek(1)))) {
        ++at_;
        path.push_back(is_digit(peek()) ? digits() : name());
      } else if (peek() == '[') {
        ++at_;
        skip_space();
        if (peek() != '"' && peek() != '`') fail_with("Invalid index", at_);
        path.push_back(quoted());
        if (!take("]")) fail_with("Unclosed index expression", at_);
      } else {
        return path;
      }
    }
  }

  std::string name() {
    const std::size_t begin = at_;
    while (is_name(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::string digits() {
    const std::size_t begin = at_;
    while (is_digit(peek())) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string quoted() {
    const std::size_t begin = at_;
    const char quote = text_[at_];
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail_with("Unterminated string literal", begin);
    const auto inner = text_.substr(begin + 1, end - begin - 1);
    at_ = end + 1;
    if (quote == '"') {
      auto text = unquote(inner);
      if (!text) fail_with("invalid syntax", begin);
      return std::move(*text);
    }
    std::string raw(inner);
    std::erase(raw, '\r');  // as Go reads raw strings
    return raw;
  }

  std::string number() {
    const std::size_t begin = at_;
    if (peek() == '-') ++at_;
    if (!is_digit(peek())) fail_with("Invalid number literal", begin);
    if (peek() == '0')
      ++at_;
    else
      digits();
    if (peek() == '.' && is_digit(peek(1))) {
      ++at_;
      digits();
    }
    const bool ends = at_ == text_.size() || is_space(peek()) || peek() == ')' || peek() == '}';
    if (!ends) fail_with("Invalid number literal", begin);
    return std::string(text_.substr(begin, at_ - begin));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t matches_ = 0, patterns_ = 0;
};

/// As strconv.ParseInt reads it with base 0.
std::optional<std::int64_t> whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char sign = static_cast<char>(text[1] | 0x20);
    base = sign == 'x' ? 16 : sign == 'b' ? 2 : 8;
    text.remove_prefix(sign == 'x' || sign == 'b' || sign == 'o' ? 2 : 1);
  }
  const auto value = parse_number<std::uint64_t>(text, base);
  const std::uint64_t most = (1ULL << 63) - (negative ? 0 : 1);
  if (!value || *value > most) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - *value : *value);
}

std::optional<double> real_number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return parse_number<double>(text);
}

/// As strconv.ParseBool.
std::optional<bool> truth(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

}  // namespace

std::string Selector::pointer() const {
  std::string out;
  for (const auto& part : path) out += "/" + part;
  return out;
}

Literal literal(std::string raw) {
  Literal out;
  out.boolean = truth(raw);
  out.integer = whole_number(raw);
  out.number = real_number(raw);
  out.duration = out.integer;
  if (const auto parsed = out.integer ? std::nullopt : parse_duration(raw)) out.duration = parsed->count();
  out.raw = std::move(raw);
  return out;
}

Node parse(std::string_view text) { return Parser(text).whole(); }

}  // namespace underway::filter::detail
