#include "base/json/json.hpp"
#include "base/text.hpp"
#include "hcl/detail/arguments.hpp"
#include "hcl/detail/unicode.hpp"
#include "unicode/unicode.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl::detail {

namespace {

constexpr int kMaxWidth = 1000;

/// One `%…` of a format string: printf's shape as Go has it, with `[n]` to choose the argument.
struct Verb {
  bool plus = false, minus = false, space = false, zero = false, sharp = false;
  std::optional<int> width{};
  std::optional<int> precision{};
  std::size_t argument = 0;  ///< from 1
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
    if (highest_ < values_.size()) {
      throw ArgumentError(highest_ + 1,
                          fmt::format("there are {} arguments, the format uses {}", values_.size(), highest_));
    }
    return std::move(out_);
  }

 private:
  void append(std::string_view piece) {
    if (out_.size() + piece.size() > budget_.limits().string_bytes) budget_.produce_string(out_.size() + piece.size());
    out_ += piece;
  }

  bool at_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

  int digits() {
    int value = 0;
    while (at_digit()) value = std::min(value * 10 + (text_[at_++] - '0'), kMaxWidth + 1);
    if (value > kMaxWidth) throw ArgumentError(0, fmt::format("a width in the format is above {}", kMaxWidth));
    return value;
  }

  void flags(Verb& verb) {
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
        return;
    }
  }

  Verb verb() {
    Verb verb;
    verb.argument = next_;
    flags(verb);
    if (at_digit()) verb.width = digits();
    if (at_ < text_.size() && text_[at_] == '.') {
      ++at_;
      verb.precision = digits();
    }
    if (at_ < text_.size() && text_[at_] == '[') {
      ++at_;
      const bool led = at_digit() && text_[at_] != '0';
      const int position = digits();
      if (!led || at_ >= text_.size() || text_[at_] != ']')
        throw ArgumentError(0, "'[' in the format needs an argument's number and ']'");
      ++at_;
      verb.argument = static_cast<std::size_t>(position);
    }
    if (at_ >= text_.size()) throw ArgumentError(0, "the format ends within a verb");
    verb.letter = text_[at_++];
    return verb;
  }

  std::string formatted(const Verb& verb) {
    if (verb.argument > values_.size()) {
      throw ArgumentError(0, fmt::format("the format needs argument {}, {} given", verb.argument, values_.size()));
    }
    highest_ = std::max(highest_, verb.argument);
    next_ = verb.argument + 1;
    const Value& value = values_[verb.argument - 1];
    if (verb.letter != 'v' && value.is_null()) refuse(verb, "a value", value);
    switch (verb.letter) {
      case 'v':
        return padded(plain(value, verb), verb);
      case 't': {
        const auto flag = to_bool(value);
        if (!flag) refuse(verb, "a bool", value);
        return *flag ? "true" : "false";
      }
      case 's':
      case 'q': {
        auto text = to_text(value);
        if (!text) refuse(verb, "a string", value);
        std::string shown = cut(*text, verb);
        if (verb.letter == 's') return padded(shown, verb);
        std::string quoted;
        json::append_go_string(quoted, shown);
        return padded(quoted, verb);
      }
      case 'b':
      case 'd':
      case 'o':
      case 'x':
      case 'X':
        return integer(number(value, verb), verb);
      case 'e':
      case 'E':
      case 'f':
      case 'g':
      case 'G':
        return fraction(number(value, verb), verb);
      default:
        throw ArgumentError(0, fmt::format("'%{}' is no verb", verb.letter));
    }
  }

  [[noreturn]] void refuse(const Verb& verb, std::string_view need, const Value& value) const {
    // format's own first argument is the text
    throw ArgumentError(verb.argument, fmt::format("'%{}' needs {}, this is {}", verb.letter, need,
                                                   value.depth() == 0 ? describe(value, 60) : value.type_name()));
  }

  std::string plain(const Value& value, const Verb& verb) {
    if (!verb.sharp && value.is_string()) return value.as_string();
    if (!verb.sharp && value.is_number()) {
      budget_.number(value.as_number().bits());
      return value.as_number().format('g', -1);
    }
    return encode_json(value, budget_);
  }

  /// To so many characters; ".0" means all of them, as in cty.
  static std::string cut(const std::string& text, const Verb& verb) {
    if (verb.precision.value_or(0) == 0) return text;
    const auto characters = unicode::clusters(text);
    std::string out;
    for (std::size_t i = 0; i < characters.size() && i < static_cast<std::size_t>(*verb.precision); ++i)
      out += characters[i];
    return out;
  }

  static std::string padded(std::string text, const Verb& verb) {
    const auto width = static_cast<std::size_t>(verb.width.value_or(0));
    const std::size_t have = unicode::count_clusters(text);
    if (have >= width) return text;
    const std::string padding(width - have, verb.zero ? '0' : ' ');
    return verb.minus ? text + padding : padding + text;
  }

  Number number(const Value& value, const Verb& verb) {
    auto number = to_number(value);
    if (!number) refuse(verb, "a number", value);
    budget_.number(number->bits());
    return std::move(*number);
  }

  static std::string sign_of(const Number& number, const Verb& verb) {
    return number.is_negative() ? "-" : verb.plus ? "+" : verb.space ? " " : "";
  }

  /// As Go's big.Int: a precision is the least number of digits, and makes '0' a blank.
  std::string integer(const Number& number, const Verb& verb) {
    if (!number.is_integer()) refuse(verb, "an integer", Value(number));
    const int base = verb.letter == 'b' ? 2 : verb.letter == 'o' ? 8 : verb.letter == 'd' ? 10 : 16;
    std::string digits = number.digits(base);
    if (verb.letter == 'X') digits = underway::upper(digits);
    if (verb.precision == 0 && number.is_zero()) return "";
    const auto least = static_cast<std::size_t>(verb.precision.value_or(0));
    if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
    std::string lead = number.is_zero() ? sign_of(0, verb) : sign_of(number, verb);
    if (verb.sharp) lead += base == 2 ? "0b" : base == 8 ? "0" : base == 10 ? "" : verb.letter == 'x' ? "0x" : "0X";
    return filled(std::move(lead), std::move(digits), verb, verb.zero && !verb.minus && !verb.precision);
  }

  std::string fraction(const Number& number, const Verb& verb) {
    const bool general = verb.letter == 'g' || verb.letter == 'G';
    const int precision = verb.precision.value_or(general ? -1 : 6);
    budget_.step(static_cast<std::uint64_t>(std::max(precision, 0)));
    std::string digits = number.format(verb.letter, precision);
    if (digits.starts_with('-')) digits.erase(0, 1);
    return filled(sign_of(number, verb), std::move(digits), verb, verb.zero);
  }

  static std::string filled(std::string lead, std::string digits, const Verb& verb, bool zeros) {
    const auto width = static_cast<std::size_t>(verb.width.value_or(0));
    const std::size_t have = lead.size() + digits.size();
    const std::size_t padding = width > have ? width - have : 0;
    if (zeros) return lead + std::string(padding, '0') + digits;
    if (verb.minus) return lead + digits + std::string(padding, ' ');
    return std::string(padding, ' ') + lead + digits;
  }

  std::string_view text_;
  std::span<const Value> values_;
  Budget& budget_;
  std::string out_;
  std::size_t at_ = 0;
  std::size_t next_ = 1;
  std::size_t highest_ = 0;
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
  return Arguments::list_of(std::move(out), {.form = Type::Form::string});
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
