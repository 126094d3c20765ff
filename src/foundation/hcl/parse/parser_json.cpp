#include "hcl/detail/parser.hpp"
#include "hcl/detail/unicode.hpp"
#include "unicode/unicode.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

namespace underway::hcl::detail {

namespace {

/// Strict JSON (RFC 8259); its strings are HCL templates.
class JsonParser {
 public:
  JsonParser(Document& document, Diagnostics& diagnostics)
      : document_(document), text_(document.source->text()), diagnostics_(diagnostics) {
    if (text_.starts_with("\xef\xbb\xbf")) position_ = 3;
  }

  const Node* root() {
    try {
      const Node* value = parse(0);
      skip_space();
      if (position_ < text_.size()) fail(position_, position_ + 1, "after the JSON value, the text must end");
      return value;
    } catch (const SyntaxError&) {
      return nullptr;
    }
  }

 private:
  void skip_space() { position_ = std::min(text_.find_first_not_of(" \t\r\n", position_), text_.size()); }

  [[noreturn]] void fail(std::size_t begin, std::size_t end, std::string summary, std::string detail = {},
                         std::string suggestion = {}) {
    diagnostics_.error(document_.range(span(begin, end)), std::move(summary), std::move(detail), std::move(suggestion));
    throw SyntaxError{};
  }

  static Span span(std::size_t begin, std::size_t end) {
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end)};
  }

  template <class T>
  T* node(NodeKind kind, std::size_t begin, unsigned depth = 1) {
    T* made = document_.arena.make<T>();
    made->kind = kind;
    made->depth = static_cast<std::uint16_t>(depth);
    made->span = span(begin, position_);
    made->source = text_.substr(begin, position_ - begin);
    return made;
  }

  char current() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
  }

  std::string found() {
    if (current() == '\0') return "the end of the text";
    return fmt::format("'{}'", text_.substr(position_, 1));
  }

  void expect(char c, std::string_view where) {
    if (current() != c) fail(position_, position_ + 1, fmt::format("'{}' is required {}, found {}", c, where, found()));
    ++position_;
  }

  const Node* parse(unsigned level) {
    const char c = current();
    if (level >= kMaxNesting / 2)
      fail(position_, position_ + 1, "this is nested too deeply",
           fmt::format("the limit is {} levels", kMaxNesting / 2));
    if (c == '{') return object(level);
    if (c == '[') return array(level);
    if (c == '"') return string().first;
    if (c == '-' || (c >= '0' && c <= '9')) return number();
    return word();
  }

  const Node* word() {
    const std::size_t begin = position_;
    for (const std::string_view known : {"true", "false", "null"}) {
      if (text_.substr(begin, known.size()) != known) continue;
      position_ += known.size();
      if (known == "null") return node<Node>(NodeKind::null, begin);
      auto* made = node<BooleanNode>(NodeKind::boolean, begin);
      made->value = known == "true";
      return made;
    }
    fail(begin, begin + 1, fmt::format("a JSON value is required, found {}", found()));
  }

  const Node* number() {
    const std::size_t begin = position_;
    position_ = std::min(text_.find_first_not_of("+-.0123456789eE", begin), text_.size());
    const std::string_view digits = text_.substr(begin, position_ - begin);
    const std::string_view unsigned_digits = digits.starts_with('-') ? digits.substr(1) : digits;
    const bool zero_led = unsigned_digits.size() > 1 && unsigned_digits[0] == '0' && unsigned_digits[1] >= '0' &&
                          unsigned_digits[1] <= '9';
    const std::size_t point = digits.find('.');
    const bool bare_point =
        point != std::string_view::npos &&
        (point == 0 || point + 1 == digits.size() || !is_digit(digits[point - 1]) || !is_digit(digits[point + 1]));
    if (zero_led || bare_point || digits.starts_with('+') || !Number::parse(digits))
      fail(begin, position_, "this is no JSON number");
    auto* made = node<NumberNode>(NodeKind::number, begin);
    made->digits = digits;
    return made;
  }

  /// The string as an expression, and its plain text.
  std::pair<const Node*, std::string_view> string() {
    const std::size_t begin = position_;
    bool escaped = false;
    std::size_t at = begin + 1;
    for (;; ++at) {
      if (at >= text_.size()) fail(begin, begin + 1, "this string is never closed");
      if (text_[at] == '"') break;
      if (static_cast<unsigned char>(text_[at]) < 0x20)
        fail(begin, at, "this string holds a control character", {}, "write line ends as \\n and tabs as \\t");
      if (text_[at] == '\\') {
        escaped = true;
        ++at;
      }
    }
    position_ = at + 1;
    const std::string_view raw = text_.substr(begin + 1, at - begin - 1);
    const std::string_view plain = escaped ? unescape(raw, begin) : raw;
    if (plain.find("${") == std::string_view::npos && plain.find("%{") == std::string_view::npos) {
      auto* made = node<StringNode>(NodeKind::text, begin);
      made->value = plain;
      return {made, plain};
    }
    const auto fixed = escaped ? std::optional(span(begin, position_)) : std::nullopt;
    const Node* value = Parser(document_, plain, begin + 1, fixed, diagnostics_).whole_template();
    if (value == nullptr) {  // reported; the plain text stands in for it
      auto* made = node<StringNode>(NodeKind::text, begin);
      made->value = plain;
      value = made;
    }
    return {value, plain};
  }

  std::string_view unescape(std::string_view raw, std::size_t begin) {
    std::string out;
    out.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\') {
        out += raw[i];
        continue;
      }
      const char c = raw[++i];
      const std::size_t known = std::string_view("\"\\/bfnrt").find(c);
      if (known != std::string_view::npos) {
        out += "\"\\/\b\f\n\r\t"[known];
      } else if (c == 'u') {
        std::uint32_t point = hex4(raw, i + 1, begin);
        i += 4;
        if (point >= 0xd800 && point < 0xdc00 && raw.substr(i + 1, 2) == "\\u") {
          const std::uint32_t low = hex4(raw, i + 3, begin);
          if (low >= 0xdc00 && low < 0xe000) {
            point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
        }
        unicode::append(out, point);
      } else {
        fail(begin + i, begin + i + 2, "this escape has no meaning in JSON");
      }
    }
    return document_.arena.copy(out);
  }

  std::uint32_t hex4(std::string_view raw, std::size_t at, std::size_t begin) {
    const auto value = parse_hex(at <= raw.size() ? raw.substr(at) : std::string_view(), 4);
    if (!value) fail(begin + at, begin + at + 1, "'\\u' needs 4 hexadecimal digits");
    return *value;
  }

  const Node* array(unsigned level) {
    const std::size_t begin = position_++;
    std::vector<const Node*> items;
    unsigned depth = 0;
    while (current() != ']') {
      if (!items.empty()) expect(',', "between the elements of an array");
      items.push_back(parse(level + 1));
      depth = std::max<unsigned>(depth, items.back()->depth);
    }
    ++position_;
    auto* made = node<TupleNode>(NodeKind::tuple, begin, depth + 1);
    made->items = document_.arena.copy(items);
    return made;
  }

  const Node* object(unsigned level) {
    const std::size_t begin = position_++;
    std::vector<ObjectItem> items;
    unsigned depth = 0;
    while (current() != '}') {
      if (!items.empty()) expect(',', "between the members of an object");
      if (current() != '"')
        fail(position_, position_ + 1, fmt::format("a name in double quotes is required, found {}", found()));
      const auto [key, name] = string();
      expect(':', "after a member's name");
      const Node* value = parse(level + 1);
      items.push_back({key, value, name});
      depth = std::max<unsigned>({depth, key->depth, value->depth});
    }
    ++position_;
    auto* made = node<ObjectNode>(NodeKind::object, begin, depth + 1);
    made->items = document_.arena.copy(items);
    made->json = true;
    return made;
  }

  Document& document_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t position_ = 0;
};

}  // namespace

const Node* parse_json_tree(Document& document, Diagnostics& diagnostics) {
  return JsonParser(document, diagnostics).root();
}

}  // namespace underway::hcl::detail
