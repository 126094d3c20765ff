#include "gotemplate/printing/printer.hpp"

#include "base/error.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/printing/format_number.hpp"
#include "gotemplate/printing/utf8.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace underway::gotemplate {

namespace {

/// Maps that hold themselves are no error in Go until they are printed.
constexpr unsigned kDeepestPrinted = 200;

void append_escaped(std::string& out, const Rune& rune, std::string_view bytes, char quote, bool ascii) {
  if (!rune.valid) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(bytes[0]));
    return;
  }
  const char32_t c = rune.value;
  static constexpr std::string_view kNamed = "abtnvfr";  // 7 to 13
  if (c == static_cast<char32_t>(quote) || c == '\\') {
    out += '\\';
    out += static_cast<char>(c);
  } else if (ascii ? c >= 0x20 && c < 0x7F : is_printable(c)) {
    append(out, c);
  } else if (c >= 7 && c <= 13) {
    out += '\\';
    out += kNamed[c - 7];
  } else if (c < ' ' || c == 0x7F) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned>(c));
  } else if (c < 0x10000) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
  } else {
    fmt::format_to(std::back_inserter(out), "\\U{:08x}", static_cast<unsigned>(c));
  }
}

}  // namespace

std::string quoted(std::string_view text, bool ascii) {
  std::string out = "\"";
  while (!text.empty()) {
    const Rune rune = decode(text);
    append_escaped(out, rune, text, '"', ascii);
    text.remove_prefix(rune.size);
  }
  return out + '"';
}

bool can_backquote(std::string_view text) {
  while (!text.empty()) {
    const Rune rune = decode(text);
    if (!rune.valid || rune.value == '`' || rune.value == 0xFEFF || rune.value == 0x7F ||
        (rune.value < ' ' && rune.value != '\t'))
      return false;
    text.remove_prefix(rune.size);
  }
  return true;
}

void Printer::pad_blank(std::string_view text) {
  const Flags kept = flags_;
  flags_.zero = false;
  pad(text);
  flags_ = kept;
}

void Printer::pad(std::string_view text) {
  const auto width = static_cast<std::size_t>(std::max(flags_.width, 0));
  run_.make(text.size() + width);
  const std::size_t runes = width == 0 ? 0 : count(text);
  const std::size_t missing = width > runes ? width - runes : 0;
  if (!flags_.minus) out_.append(missing, flags_.zero ? '0' : ' ');
  out_ += text;
  if (flags_.minus) out_.append(missing, ' ');
}

void Printer::wrong(const Value& value, char32_t verb, unsigned depth) {
  out_ += "%!";
  append(out_, verb);
  out_ += '(';
  if (value.is_nil()) {
    out_ += "<nil>)";
    return;
  }
  out_ += value.type_name();
  out_ += '=';
  this->value(value, 'v', depth + 1);
  out_ += ')';
}

void Printer::value(const Value& value, char32_t verb, unsigned depth) {
  run_.step();
  if (depth > kDeepestPrinted) throw Error(Code::too_large, "a value that is to be printed is nested too deeply");
  if (verb == 'T') return value.is_nil() ? pad("<nil>") : text(value.type_name(), 's');
  switch (value.kind()) {
    case Kind::nil:
      // Inside a list or map it is an interface without a value, which all verbs print.
      if (verb != 'v' && depth == 0) return wrong(value, verb, depth);
      if (depth > 0) {
        out_ += flags_.sharp_v ? "interface {}(nil)" : "<nil>";
        return;
      }
      return pad("<nil>");
    case Kind::boolean:
      return verb == 't' || verb == 'v' ? boolean(value.as_bool(), verb) : wrong(value, verb, depth);
    case Kind::integer:
    case Kind::natural:
      return std::u32string_view(U"vdboOxXcqU").find(verb) != std::u32string_view::npos ? integer(value, verb)
                                                                                        : wrong(value, verb, depth);
    case Kind::real:
      return std::u32string_view(U"vbeEfFgGxX").find(verb) != std::u32string_view::npos ? real(value.as_real(), verb)
                                                                                        : wrong(value, verb, depth);
    case Kind::text:
      return std::u32string_view(U"vsxXq").find(verb) != std::u32string_view::npos ? text(value.as_text(), verb)
                                                                                   : wrong(value, verb, depth);
    case Kind::list:
      // %w is for errors: it refuses what could be one.
      return verb == 'w' && depth == 0 ? wrong(value, verb, depth) : list(value, verb, depth);
    case Kind::map:
      return verb == 'w' && depth == 0 ? wrong(value, verb, depth) : map(value, verb, depth);
    case Kind::object: {
      const std::string printed =
          flags_.sharp_v && verb == 'v' ? value.as_object().source_text() : value.as_object().text();
      return std::u32string_view(U"vsxXq").find(verb) != std::u32string_view::npos
                 ? text(printed, verb == 'v' ? 's' : verb)
                 : wrong(Value(printed), verb, depth);
    }
    case Kind::function:
      return pad_blank("func");
  }
}

void Printer::boolean(bool value, char32_t /*verb*/) { pad(value ? "true" : "false"); }

void Printer::integer(const Value& value, char32_t verb) {
  const bool negative = value.kind() == Kind::integer && value.as_integer() < 0;
  const std::uint64_t bits =
      value.kind() == Kind::integer ? static_cast<std::uint64_t>(value.as_integer()) : value.as_natural();
  const std::uint64_t magnitude = negative ? 0 - bits : bits;
  switch (verb) {
    case 'v':
      if (flags_.sharp_v && value.kind() == Kind::natural) {
        const bool sharp = std::exchange(flags_.sharp, true);
        number(magnitude, false, 16, false, 'v');
        flags_.sharp = sharp;
        return;
      }
      return number(magnitude, negative, 10, false, 'd');
    case 'd':
      return number(magnitude, negative, 10, false, verb);
    case 'b':
      return number(magnitude, negative, 2, false, verb);
    case 'o':
    case 'O':
      return number(magnitude, negative, 8, false, verb);
    case 'x':
    case 'X':
      return number(magnitude, negative, 16, verb == 'X', verb);
    case 'c': {
      std::string rune;
      append(rune, bits > 0x10FFFF ? kReplacement : static_cast<char32_t>(bits));
      return pad(rune);
    }
    case 'q':
      return quoted_rune(bits);
    default:
      return unicode(bits);
  }
}

void Printer::number(std::uint64_t magnitude, bool negative, unsigned base, bool upper, char32_t verb) {
  std::string digits = format_natural(magnitude, base);
  if (upper) std::ranges::transform(digits, digits.begin(), [](unsigned char c) { return std::toupper(c); });
  if (flags_.precision == 0 && magnitude == 0) return pad_blank("");
  std::size_t least = static_cast<std::size_t>(std::max(flags_.precision, 0));
  const bool sign = negative || flags_.plus || flags_.space;
  const bool fill = flags_.zero && !flags_.minus && flags_.precision < 0 && flags_.width > 0;
  if (fill) least = static_cast<std::size_t>(flags_.width) - (sign ? 1 : 0);
  run_.make(least);
  if (digits.size() < least) digits.insert(0, least - digits.size(), '0');
  std::string prefix;
  if (flags_.sharp && base == 2) prefix = "0b";
  if (flags_.sharp && base == 8 && !digits.starts_with('0')) prefix = "0";
  if (flags_.sharp && base == 16) prefix = upper ? "0X" : "0x";
  if (verb == 'O') prefix.insert(0, "0o");
  digits.insert(0, prefix);
  if (sign) digits.insert(0, 1, negative ? '-' : flags_.plus ? '+' : ' ');
  pad_blank(digits);
}

/// %b: the mantissa as it is, and its power of two: "8285044871266304p-26".
std::string mantissa_and_power(double value) {
  if (!std::isfinite(value)) return format_real(value, 'g', -1);
  constexpr int kMantissaBits = 52;
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto field = static_cast<int>(bits >> kMantissaBits & 0x7FFU);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
  const std::uint64_t mantissa = field == 0 ? fraction : fraction | std::uint64_t{1} << kMantissaBits;
  const int power = std::max(field, 1) - 1023 - kMantissaBits;
  return fmt::format("{}{}p{:+}", std::signbit(value) ? "-" : "", mantissa, power);
}

/// "%#x" has a point, and zeros as Go counts them: the x and what follows it are digits too.
void sharpen(std::string& text, bool zeros, int precision) {
  const std::size_t end = text.find_first_of("pP");
  int missing = zeros ? (precision < 0 ? 6 : precision) : 0;
  bool seen = false;
  for (std::size_t i = 0; i < end; ++i) {
    if (text[i] == '-' || text[i] == '.') continue;
    seen = seen || text[i] != '0';
    if (seen) --missing;
  }
  std::string more = text.find('.') == std::string::npos ? "." : "";
  more.append(static_cast<std::size_t>(std::max(missing, 0)), '0');
  text.insert(end, more);
}

void Printer::real(double value, char32_t verb) {
  const bool plain = verb == 'v';
  int precision = flags_.precision;
  if (precision < 0 && std::u32string_view(U"eEfF").find(verb) != std::u32string_view::npos) precision = 6;
  run_.make(static_cast<std::size_t>(std::max(precision, 0)));
  std::string digits = verb == 'b' ? mantissa_and_power(value)
                                   : format_real(value, plain ? 'g' : static_cast<char>(verb), precision, flags_.sharp);
  if (flags_.sharp && (verb == 'x' || verb == 'X') && std::isfinite(value)) sharpen(digits, verb == 'x', precision);
  char sign = 0;
  if (digits[0] == '-' || digits[0] == '+') {
    sign = digits[0];
    digits.erase(0, 1);
  }
  if (sign == '+' && !flags_.plus && !flags_.space) digits.insert(0, "+"), sign = 0;  // +Inf
  if (sign == 0 && flags_.plus) sign = '+';
  if (sign != '-' && flags_.space && !flags_.plus) sign = ' ';
  if (std::isinf(value) || std::isnan(value)) {
    if (std::isnan(value) && !flags_.space && !flags_.plus) sign = 0;
    return pad_blank(sign != 0 ? sign + digits : digits);
  }
  if (flags_.zero && !flags_.minus && flags_.width > 0) {
    const std::size_t room = static_cast<std::size_t>(flags_.width) - (sign != 0 ? 1 : 0);
    run_.make(room);
    if (digits.size() < room) digits.insert(0, room - digits.size(), '0');
  }
  pad_blank(sign != 0 ? sign + digits : digits);
}

void Printer::text(std::string_view text, char32_t verb) {
  const bool cut = flags_.precision >= 0 && verb != 'x' && verb != 'X';
  if (cut) text = text.substr(0, prefix_size(text, static_cast<std::size_t>(flags_.precision)));
  if (verb == 'x' || verb == 'X') return hex(text, verb == 'X');
  if (verb == 's' || (verb == 'v' && !flags_.sharp_v)) return pad(text);
  run_.make(text.size() * 2);
  if (flags_.sharp && verb == 'q' && can_backquote(text)) {
    std::string raw = "`";
    raw += text;
    return pad(raw + '`');
  }
  pad(quoted(text, flags_.plus && verb == 'q'));
}

void Printer::hex(std::string_view bytes, bool upper) {
  if (flags_.precision >= 0) bytes = bytes.substr(0, static_cast<std::size_t>(flags_.precision));
  run_.make(bytes.size() * 5);
  std::string out;
  const std::string_view prefix = upper ? "0X" : "0x";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && flags_.space) out += ' ';
    if (flags_.sharp && (i == 0 || flags_.space)) out += prefix;
    const auto byte = static_cast<unsigned char>(bytes[i]);
    out += upper ? fmt::format("{:02X}", byte) : fmt::format("{:02x}", byte);
  }
  pad(out);
}

void Printer::quoted_rune(std::uint64_t rune) {
  std::string bytes;
  append(bytes, rune > 0x10FFFF ? kReplacement : static_cast<char32_t>(rune));
  std::string out = "'";
  append_escaped(out, decode(bytes), bytes, '\'', flags_.plus);
  pad(out + '\'');
}

void Printer::unicode(std::uint64_t rune) {
  std::string out = fmt::format("U+{:0{}X}", rune, std::clamp(flags_.precision, 4, 100));
  if (flags_.sharp && rune <= 0x10FFFF && is_printable(static_cast<char32_t>(rune))) {
    out += " '";
    append(out, static_cast<char32_t>(rune));
    out += '\'';
  }
  pad_blank(out);
}

void Printer::list(const Value& value, char32_t verb, unsigned depth) {
  const bool source = flags_.sharp_v;
  const List& items = value.as_list();
  if (source && value.is_null_list()) {
    out_ += value.type_name() + "(nil)";
    return;
  }
  out_ += source ? value.type_name() + "{" : "[";
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out_ += source ? ", " : " ";
    this->value(items[i], verb, depth + 1);
  }
  out_ += source ? '}' : ']';
}

void Printer::map(const Value& value, char32_t verb, unsigned depth) {
  const bool source = flags_.sharp_v;
  const Map& members = value.as_map();
  out_ += source ? value.type_name() + "{" : "map[";
  bool first = true;
  for (const auto& [key, member] : members) {
    if (!std::exchange(first, false)) out_ += source ? ", " : " ";
    this->value(Value(key), verb, depth + 1);
    out_ += ':';
    this->value(member, verb, depth + 1);
  }
  out_ += source ? '}' : ']';
}

std::string quote(std::string_view text) { return quoted(text, false); }
std::string real_text(double value) { return format_real(value, 'g', -1); }

}  // namespace underway::gotemplate
