// JSON as Go's encoding/json reads it into an interface {}.
#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/language/literal.hpp"
#include "gotemplate/printing/utf8.hpp"

namespace underway::gotemplate {

namespace {

constexpr std::size_t kLongestJson = 4U << 20;
constexpr unsigned kDeepestJson = Value::kMaxDepth - 10;

class JsonReader {
 public:
  JsonReader(std::string_view text, Run& run) : text_(text), run_(run) {}

  Value read() {
    Value out = value(0);
    blanks();
    if (at_ < text_.size()) fail("there is more behind the value");
    return out;
  }

 private:
  /// Without the text itself: it may be a secret.
  [[noreturn]] void fail(std::string_view what) const {
    throw Error(Code::invalid, fmt::format("json: {} at byte {}", what, at_));
  }

  void blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos) ++at_;
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (!text_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Value value(unsigned depth) {
    run_.step();
    if (depth > kDeepestJson) throw Error(Code::too_large, "json: the text is nested too deeply");
    blanks();
    if (at_ == text_.size()) fail("the text ends too early");
    if (take('{')) return object(depth);
    if (take('[')) return array(depth);
    if (peek() == '"') return text();
    if (take("true")) return true;
    if (take("false")) return false;
    if (take("null")) return {};
    return number();
  }

  Value array(unsigned depth) {
    List items;
    blanks();
    if (take(']')) return Value::list({});
    do {
      run_.make_elements(1);
      items.push_back(value(depth + 1));
      blanks();
    } while (take(','));
    if (!take(']')) fail("',' or ']' is missing");
    return Value::list(std::move(items));
  }

  Value object(unsigned depth) {
    Map members;
    blanks();
    if (take('}')) return run_.map();
    do {
      blanks();
      if (peek() != '"') fail("a name in quotes is missing");
      const Value name = text();
      blanks();
      if (!take(':')) fail("':' is missing");
      members.insert_or_assign(std::string(name.as_text()), value(depth + 1));
      blanks();
    } while (take(','));
    if (!take('}')) fail("',' or '}' is missing");
    return run_.map(std::move(members));
  }

  Value number() {
    const std::size_t begin = at_;
    const auto digits = [&] {
      const std::size_t first = at_;
      while (peek() >= '0' && peek() <= '9') ++at_;
      if (at_ == first) fail("there is no value");
    };
    take('-');
    if (!take('0')) digits();
    if (take('.')) digits();
    if (take('e') || take('E')) {
      if (!take('+')) take('-');
      digits();
    }
    const auto real = parse_real(text_.substr(begin, at_ - begin));
    if (!real) fail("a number is too large");
    return *real;
  }

  unsigned four_digits() {
    unsigned out = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = peek();
      const bool digit = c >= '0' && c <= '9';
      const char lower = static_cast<char>(c | 0x20);
      if (!digit && (lower < 'a' || lower > 'f')) fail("\\u has four digits");
      out = out * 16 + static_cast<unsigned>(digit ? c - '0' : lower - 'a' + 10);
      ++at_;
    }
    return out;
  }

  /// Two halves of a character together; a half alone is U+FFFD.
  void escaped_rune(std::string& out) {
    const unsigned first = four_digits();
    const bool high = first >= 0xD800 && first < 0xDC00;
    if (high && text_.substr(at_).starts_with("\\u")) {
      const std::size_t kept = at_;
      at_ += 2;
      const unsigned second = four_digits();
      if (second >= 0xDC00 && second < 0xE000)
        return append(out, 0x10000U + ((first - 0xD800U) << 10U) + (second - 0xDC00U));
      at_ = kept;
    }
    append(out, first);
  }

  void escape(std::string& out) {
    static constexpr std::string_view kNames = "\"\\/bfnrt";
    static constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
    if (take('u')) return escaped_rune(out);
    const std::size_t named = at_ < text_.size() ? kNames.find(text_[at_]) : std::string_view::npos;
    if (named == std::string_view::npos) fail("an escape is not known");
    out += kMeant[named];
    ++at_;
  }

  Value text() {
    std::string out;
    ++at_;
    while (!take('"')) {
      if (at_ == text_.size()) fail("a text does not end");
      if (static_cast<unsigned char>(text_[at_]) < ' ') fail("a control character stands in a text");
      if (take('\\')) {
        escape(out);
        continue;
      }
      const Rune rune = decode(text_.substr(at_));
      append(out, rune.value);
      at_ += rune.size;
    }
    run_.make(out.size());
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Run& run_;
};

}  // namespace

Value from_json(std::string_view text, Run& run) {
  if (text.size() > kLongestJson)
    throw Error(Code::too_large, fmt::format("json: the text is larger than {} bytes", kLongestJson));
  run.step(text.size() / 16);
  return JsonReader(text, run).read();
}

}  // namespace underway::gotemplate
