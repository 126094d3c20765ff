#include "gotemplate/language/literal.hpp"

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <charconv>
#include <cmath>

namespace underway::gotemplate {

namespace {

std::optional<char32_t> digits_of_escape(std::string_view& text, std::size_t digits, int base) {
  if (text.size() < digits) return std::nullopt;
  const auto value = underway::parse_number<std::uint32_t>(text.substr(0, digits), base);
  if (!value) return std::nullopt;
  text.remove_prefix(digits);
  return static_cast<char32_t>(*value);
}

/// One character or escape off the front of `text`, appended to `out`: "\x80" is a byte, "\u0080" a character.
bool unquote_one(std::string_view& text, char quote, std::string& out) {
  const Rune rune = decode(text);
  if (text[0] == quote || text[0] == '\n') return false;
  if (text[0] != '\\') {
    out += text.substr(0, rune.size);
    text.remove_prefix(rune.size);
    return true;
  }
  if (text.size() < 2) return false;
  const char c = text[1];
  text.remove_prefix(2);
  static constexpr std::string_view kNamed = "abfnrtv\\";
  static constexpr std::string_view kMeaning = "\a\b\f\n\r\t\v\\";
  if (const std::size_t at = kNamed.find(c); at != std::string_view::npos) {
    out += kMeaning[at];
    return true;
  }
  if (c == quote) {
    out += c;
    return true;
  }
  if (c == 'x' || (c >= '0' && c <= '7')) {
    std::string_view digits = text;
    if (c != 'x') digits = std::string_view(text.data() - 1, text.size() + 1);
    const auto value = c == 'x' ? digits_of_escape(digits, 2, 16) : digits_of_escape(digits, 3, 8);
    if (!value || *value > 0xFF) return false;
    text = digits;
    out += static_cast<char>(*value);
    return true;
  }
  if (c != 'u' && c != 'U') return false;
  const auto value = digits_of_escape(text, c == 'u' ? 4 : 8, 16);
  if (!value || *value > 0x10FFFF || (*value >= 0xD800 && *value <= 0xDFFF)) return false;
  append(out, *value);
  return true;
}

/// A '_' stands between digits, or between a base's prefix and a digit.
bool underscores_are_fine(std::string_view text) {
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  bool hexadecimal = false;
  char before = '^';
  if (text.size() >= 2 && text[0] == '0' && std::string_view("bBoOxX").find(text[1]) != std::string_view::npos) {
    hexadecimal = text[1] == 'x' || text[1] == 'X';
    before = '0';  // the prefix counts as a digit
    text.remove_prefix(2);
  }
  for (const char c : text) {
    if ((c >= '0' && c <= '9') || (hexadecimal && std::isxdigit(static_cast<unsigned char>(c)) != 0)) {
      before = '0';
    } else if (c == '_') {
      if (before != '0') return false;
      before = '_';
    } else {
      if (before == '_') return false;
      before = '!';
    }
  }
  return before != '_';
}

std::string without_underscores(std::string_view text) {
  std::string out(text);
  std::erase(out, '_');
  return out;
}

std::unique_ptr<ConstantNode> parse_character(const Item& item) {
  const auto malformed = [&] {
    return Error(Code::invalid, fmt::format("malformed character constant: {}", item.text));
  };
  std::string_view inner = item.text.substr(1);
  std::string bytes;
  if (inner.empty() || !unquote_one(inner, '\'', bytes)) throw Error(Code::invalid, "invalid syntax");
  if (inner != "'") throw malformed();
  const Rune rune = decode(bytes);
  const std::int64_t value =
      rune.valid || bytes.size() > 1 ? static_cast<std::int64_t>(rune.value) : static_cast<unsigned char>(bytes[0]);
  auto node = std::make_unique<ConstantNode>(NodeKind::number, item.position, item.text, Value(value));
  node->whole = value;
  node->real = static_cast<double>(value);
  return node;
}

}  // namespace

std::optional<std::string> unquote(std::string_view quoted) {
  const char quote = quoted.front();
  quoted = quoted.substr(1, quoted.size() - 2);
  std::string out;
  if (quote == '`') {
    for (const char c : quoted)
      if (c != '\r') out += c;
    return out;
  }
  while (!quoted.empty())
    if (!unquote_one(quoted, quote, out)) return std::nullopt;
  return out;
}

std::optional<std::uint64_t> parse_natural(std::string_view text, unsigned base) {
  std::string digits(text);
  if (base == 0) {
    if (!underscores_are_fine(text)) return std::nullopt;
    base = 10;
    if (text.size() >= 2 && text[0] == '0') {
      const char c = static_cast<char>(text[1] | 0x20);
      base = c == 'x' ? 16 : c == 'b' ? 2 : 8;
      text.remove_prefix(c == 'x' || c == 'b' || c == 'o' ? 2 : 1);
    }
    digits = without_underscores(text);
  }
  return underway::parse_number<std::uint64_t>(digits, static_cast<int>(base));
}

std::optional<std::int64_t> parse_integer(std::string_view text, unsigned base) {
  if (text.empty()) return std::nullopt;
  const bool negative = text[0] == '-';
  if (negative || text[0] == '+') text.remove_prefix(1);
  const auto magnitude = parse_natural(text, base);
  if (!magnitude) return std::nullopt;
  const std::uint64_t bound = (std::uint64_t{1} << 63U) - (negative ? 0 : 1);
  if (*magnitude > bound) return std::nullopt;
  return static_cast<std::int64_t>(negative ? 0 - *magnitude : *magnitude);
}

std::optional<double> parse_real(std::string_view text) {
  if (!underscores_are_fine(text)) return std::nullopt;
  std::string digits = without_underscores(text);
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.erase(0, 1);
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal && digits.find_first_of("pP") == std::string::npos) return std::nullopt;
  if (hexadecimal) digits.erase(0, 2);
  if (digits.empty() || digits[0] == '-' || digits[0] == '+') return std::nullopt;
  double value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, error] =
      std::from_chars(digits.data(), end, value, hexadecimal ? std::chars_format::hex : std::chars_format::general);
  if (stop != end) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    // Too small a number is 0; one that is too large is none.
    const std::size_t power = digits.find_first_of(hexadecimal ? "pP" : "eE");
    const bool small = power == std::string::npos ? digits.starts_with('0') || digits.starts_with('.')
                                                  : digits.substr(power + 1).starts_with('-');
    if (!small) return std::nullopt;
    value = 0;
  } else if (error != std::errc{}) {
    return std::nullopt;
  }
  return negative ? -value : value;
}

std::unique_ptr<ConstantNode> parse_number(const Item& item) {
  if (item.token == Token::character_constant) return parse_character(item);
  const std::string_view text = item.text;
  if (item.token == Token::complex_number || text.ends_with('i'))
    throw Error(Code::invalid, fmt::format("bad number syntax: {}", quote(text)))
        .because("complex numbers are not offered");
  auto node = std::make_unique<ConstantNode>(NodeKind::number, item.position, text, Value());
  node->whole = parse_integer(text, 0);
  if (node->whole) {
    node->real = static_cast<double>(*node->whole);
    node->value = Value(*node->whole);
    return node;
  }
  if (const auto natural = parse_natural(text, 0)) {
    node->real = static_cast<double>(*natural);  // fits no int: an error where it is used
    return node;
  }
  node->real = parse_real(text);
  if (!node->real) throw Error(Code::invalid, fmt::format("illegal number syntax: {}", quote(text)));
  if (text.find_first_of(".eEpP") == std::string_view::npos)
    throw Error(Code::invalid, fmt::format("integer overflow: {}", quote(text)));
  node->value = Value(*node->real);
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::trunc(*node->real) == *node->real && std::fabs(*node->real) < kTwoTo63)
    node->whole = static_cast<std::int64_t>(*node->real);
  return node;
}

}  // namespace underway::gotemplate
