#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace underway::hcl::detail {

namespace {

constexpr int kMaxWidth = 1000;

/// One `%…` of a format string: printf's shape as Go has it, with `[n]` to choose the argument.
struct Verb {
  bool plus = false, minus = false, space = false, zero = false, sharp = false;
  std::optional<int> width{};
  std::optional<int> precision{};
  std::optional<std::size_t> argument{};  ///< from 1
  char letter = 0;
};

class Formatter {
 public:
  Formatter(std::string_view text, std::span<const Value> values, Budget& budget)
      : text_(text), values_(values), budget_(budget) {}

  std::string run() {
    while (at_ < text_.size()) {
      const std::size_t percent = std::min(text_.find('%', at_), text_.size());
      append(text_.substr(at_, percent - at_));
      at_ = percent;
      if (at_ == text_.size()) break;
      ++at_;
      if (at_ < text_.size() && text_[at_] == '%') {
        append("%");
        ++at_;
      } else {
        append(formatted(verb()));
      }
    }
    if (next_ < values_.size() && !explicit_) {
      throw ArgumentError(values_.size(), fmt::format("there are {} arguments for {} verbs", values_.size(), next_));
    }
    return std::move(out_);
  }

 private:
  void append(std::string_view piece) {
    if (out_.size() + piece.size() > budget_.limits().string_bytes) budget_.produce_string(out_.size() + piece.size());
    out_ += piece;
  }

  std::optional<int> digits() {
    if (at_ >= text_.size() || text_[at_] < '0' || text_[at_] > '9') return std::nullopt;
    int value = 0;
    while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9')
      value = std::min(value * 10 + (text_[at_++] - '0'), kMaxWidth + 1);
    if (value > kMaxWidth) throw ArgumentError(0, fmt::format("a width in the format is above {}", kMaxWidth));
    return value;
  }

  Verb verb() {
    Verb verb;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '+')
        verb.plus = true;
      else if (c == '-')
        verb.minus = true;
      else if (c == ' ')
        verb.space = true;
      else if (c == '0')
        verb.zero = true;
      else if (c == '#')
        verb.sharp = true;
      else
        break;
    }
    verb.width = digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      verb.precision = digits().value_or(0);
    }
    if (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      const auto position = digits();
      if (!position || *position < 1 || at_ >= text_.size() || text_[at_] != ']')
        throw ArgumentError(0, "'[' in the format needs an argument's number and ']'");
      ++at_;
      verb.argument = static_cast<std::size_t>(*position);
      explicit_ = true;
    }
    if (at_ >= text_.size()) throw ArgumentError(0, "the format ends within a verb");
    verb.letter = text_[at_++];
    return verb;
  }

  const Value& argument(const Verb& verb) {
    if (verb.argument) next_ = *verb.argument - 1;
    if (next_ >= values_.size()) {
      throw ArgumentError(0, fmt::format("the format needs argument {}, {} given", next_ + 1, values_.size()));
    }
    return values_[next_++];
  }

  std::string formatted(const Verb& verb) {
    const Value& value = argument(verb);
    place_ = next_;  // format's own first argument is the text
    switch (verb.letter) {
      case 'v':
        return padded(plain(value, verb), verb);
      case 't': {
        const auto flag = to_bool(value);
        if (!flag) refuse(verb, "a bool", value);
        return padded(*flag ? "true" : "false", verb);
      }
      case 's': {
        auto text = to_text(value);
        if (!text) refuse(verb, "a string", value);
        return padded(cut(*text, verb), verb);
      }
      case 'q': {
        const auto text = to_text(value);
        if (!text) refuse(verb, "a string", value);
        return padded(json_quote(cut(*text, verb)), verb);
      }
      case 'b':
      case 'd':
      case 'o':
        return integer(value, verb);
      case 'x':
      case 'X':
        if (value.is_string() && !to_number(value)) return padded(hexed(value.as_string(), verb.letter == 'X'), verb);
        return integer(value, verb);
      case 'e':
      case 'E':
      case 'f':
      case 'g':
      case 'G':
        return fraction(value, verb);
      default:
        throw ArgumentError(0, fmt::format("'%{}' is no verb", verb.letter));
    }
  }

  [[noreturn]] void refuse(const Verb& verb, std::string_view need, const Value& value) const {
    throw ArgumentError(place_, fmt::format("'%{}' needs {}, this is {}", verb.letter, need,
                                            value.depth() == 0 ? describe(value, 60) : value.type_name()));
  }

  std::string plain(const Value& value, const Verb& verb) {
    if (verb.sharp) return encode_json(value, budget_);
    if (value.is_null()) return "null";
    if (auto text = to_text(value)) return cut(*text, verb);
    return encode_json(value, budget_);
  }

  static std::string cut(const std::string& text, const Verb& verb) {
    if (!verb.precision) return text;
    const auto points = code_points(text);
    std::string out;
    for (std::size_t i = 0; i < points.size() && i < static_cast<std::size_t>(*verb.precision); ++i) out += points[i];
    return out;
  }

  static std::string hexed(const std::string& text, bool upper) {
    std::string out = hex(text);
    return upper ? underway::upper(out) : out;
  }

  /// Width and sign of a number: `digits` has no sign.
  static std::string signed_number(bool negative, std::string digits, const Verb& verb) {
    const std::string sign = negative ? "-" : verb.plus ? "+" : verb.space ? " " : "";
    const auto width = static_cast<std::size_t>(verb.width.value_or(0));
    if (verb.zero && !verb.minus && sign.size() + digits.size() < width)
      digits.insert(0, width - sign.size() - digits.size(), '0');
    return padded(sign + digits, verb);
  }

  static std::string padded(std::string text, const Verb& verb) {
    const auto width = static_cast<std::size_t>(verb.width.value_or(0));
    const std::size_t have = count_code_points(text);
    if (have >= width) return text;
    if (verb.minus) return text + std::string(width - have, ' ');
    return std::string(width - have, ' ') + text;
  }

  std::string integer(const Value& value, const Verb& verb) {
    const auto number = to_number(value);
    if (!number) refuse(verb, "a number", value);
    const bool negative = number->sign() < 0;
    Number left = floor(negative ? -*number : *number);
    if (verb.letter == 'd') return signed_number(negative, left.to_string(), verb);
    const int base = verb.letter == 'b' ? 2 : verb.letter == 'o' ? 8 : 16;
    const std::string_view symbols = verb.letter == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
    std::string digits;
    do {
      budget_.number(left.bits());
      digits += symbols[static_cast<std::size_t>(remainder(left, base).to_int64().value_or(0))];
      left = floor(left / base);
    } while (!left.is_zero());
    std::reverse(digits.begin(), digits.end());
    if (verb.sharp) digits.insert(0, base == 2 ? "0b" : base == 8 ? "0" : verb.letter == 'x' ? "0x" : "0X");
    return signed_number(negative, std::move(digits), verb);
  }

  std::string fraction(const Value& value, const Verb& verb) {
    const auto number = to_number(value);
    if (!number) refuse(verb, "a number", value);
    const bool negative = number->sign() < 0;
    const Number magnitude = negative ? -*number : *number;
    budget_.number(number->bits());
    const int precision = verb.precision.value_or(6);
    budget_.step(static_cast<std::uint64_t>(precision * (1 + precision / 100)));  // a product for each decimal
    switch (verb.letter) {
      case 'f':
        return signed_number(negative, fixed(magnitude, precision), verb);
      case 'e':
        return signed_number(negative, fmt::format("{:.{}e}", magnitude.to_double(), precision), verb);
      case 'E':
        return signed_number(negative, fmt::format("{:.{}E}", magnitude.to_double(), precision), verb);
      default:
        return signed_number(negative, general(magnitude.to_double(), verb), verb);
    }
  }

  /// Rounded half to even, exactly.
  static std::string fixed(const Number& magnitude, int precision) {
    Number scale = 1;
    for (int i = 0; i < precision; ++i) scale = scale * 10;
    const Number scaled = magnitude * scale;
    Number whole = floor(scaled);
    const auto side = (scaled - whole) <=> (Number(1) / Number(2));
    if (side > 0 || (side == 0 && !remainder(whole, 2).is_zero())) whole = whole + 1;
    std::string digits = whole.to_string();
    if (precision == 0) return digits;
    const auto decimals = static_cast<std::size_t>(precision);
    if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
    return digits.insert(digits.size() - decimals, ".");
  }

  static std::string general(double magnitude, const Verb& verb) {
    const bool upper = verb.letter == 'G';
    if (verb.precision) return fmt::format(fmt::runtime(upper ? "{:.{}G}" : "{:.{}g}"), magnitude, *verb.precision);
    // Go's shortest form switches to an exponent below 1e-4 and from 1e21 on.
    if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= 1e21))
      return fmt::format(fmt::runtime(upper ? "{:G}" : "{:g}"), magnitude);
    return Number::from_double(magnitude).to_string();
  }

  std::string_view text_;
  std::span<const Value> values_;
  Budget& budget_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t next_ = 0;
  std::size_t place_ = 0;
  bool explicit_ = false;
};

Value format_list(const Arguments& arguments, const Call& call) {
  const std::string text = arguments.text(0);
  const auto values = call.arguments.subspan(1);
  std::optional<std::size_t> length;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_sequence()) continue;
    const std::size_t own = values[i].items().size();
    if (length && *length != own)
      throw ArgumentError(i + 1, fmt::format("the lists have {} and {} elements", *length, own));
    length = own;
  }
  Value::List out;
  for (std::size_t row = 0; row < length.value_or(1); ++row) {
    arguments.budget().step(1 + text.size() / 16 + values.size());
    std::vector<Value> picked;
    for (const auto& value : values) picked.push_back(value.is_sequence() ? value.items()[row] : value);
    std::string line = Formatter(text, picked, arguments.budget()).run();
    arguments.budget().produce_string(line.size() + sizeof(Value));
    out.emplace_back(std::move(line));
  }
  return Value::list(std::move(out));
}

}  // namespace

void add_format_functions(Entries& entries) {
  entries["format"] = {"format, values…", 1, Function::kAny,
                       [](const Call& call) -> Value {
                         const Arguments arguments(call);
                         return Formatter(arguments.text(0), call.arguments.subspan(1), arguments.budget()).run();
                       },
                       true};
  entries["formatlist"] = {"format, values…", 1, Function::kAny,
                           [](const Call& call) { return format_list(Arguments(call), call); }, true};
}

}  // namespace underway::hcl::detail
