// Arithmetic: Sprig's, which takes texts for numbers and 0 for what is none.
#include "base/error.hpp"
#include "gotemplate/format.hpp"
#include "gotemplate/functions/library.hpp"
#include "gotemplate/language/literal.hpp"

#include <cmath>

namespace underway::gotemplate {

namespace {

/// Wraps around, as Go's int64 does.
std::int64_t add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
std::int64_t subtract(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
std::int64_t multiply(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

std::int64_t divisor(const Value& value) {
  const std::int64_t number = cast_integer(value);
  if (number == 0) throw Error(Code::invalid, "runtime error: integer divide by zero");
  return number;
}

Value divide(const Call& call) {
  const std::int64_t by = divisor(call[1]);
  const std::int64_t number = cast_integer(call[0]);
  return Value::int64(by == -1 ? subtract(0, number) : number / by);
}

Value modulo(const Call& call) {
  const std::int64_t by = divisor(call[1]);
  return Value::int64(by == -1 ? 0 : cast_integer(call[0]) % by);
}

template <class F>
Value fold(const Call& call, F combine) {
  std::int64_t value = cast_integer(call[0]);
  for (const Value& other : call.arguments.subspan(1)) value = combine(value, cast_integer(other));
  return Value::int64(value);
}

/// Go's math.Max and Min: NaN wins, and 0 is above -0.
Value extreme(const Call& call, bool largest) {
  double value = cast_real(call[0]);
  for (const Value& argument : call.arguments.subspan(1)) {
    const double other = cast_real(argument);
    if (std::isnan(value) || std::isnan(other))
      value = std::isinf(value) ? value : std::isinf(other) && (other > 0) == largest ? other : std::nan("");
    else if (value == 0 && other == 0)
      value = std::signbit(value) == largest ? other : value;
    else
      value = largest ? std::max(value, other) : std::min(value, other);
  }
  return value;
}

std::uint64_t count_of(std::int64_t start, std::int64_t stop, std::int64_t step) {
  if (step == 0 || (step > 0) != (stop > start) || start == stop) return 0;
  const std::uint64_t distance = step > 0 ? static_cast<std::uint64_t>(stop) - static_cast<std::uint64_t>(start)
                                          : static_cast<std::uint64_t>(start) - static_cast<std::uint64_t>(stop);
  const std::uint64_t size = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
  return (distance - 1) / size + 1;
}

Value until(std::int64_t start, std::int64_t stop, std::int64_t step, Run& run) {
  const std::uint64_t count = count_of(start, stop, step);
  run.make_elements(count);
  List items;
  items.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i)
    items.emplace_back(add(start, multiply(static_cast<std::int64_t>(i), step)));
  return Value::list(std::move(items), Element::integer);
}

/// As seq(1): "1 2 3", with the last number included.
Value seq(const Call& call) {
  if (call.size() == 0 || call.size() > 3) return "";
  const std::int64_t start = call.size() > 1 ? call.integer(0) : 1;
  const std::int64_t end = call.integer(call.size() - 1);
  const std::int64_t towards = end < start ? -1 : 1;
  const std::int64_t step = call.size() == 3 ? call.integer(1) : towards;
  if (call.size() == 3 && end < start && step > 0) return "";
  const std::uint64_t count = count_of(start, add(end, towards), step);
  call.run.make_elements(count);
  std::string out;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (i > 0) out += ' ';
    out += fmt::to_string(add(start, multiply(static_cast<std::int64_t>(i), step)));
  }
  call.run.make(out.size());
  return out;
}

/// Go's math.Pow(10, n), which multiplies: the last bit is not always that of C's.
double real_power_of_ten(std::int64_t exponent) {
  if (exponent > 400) return HUGE_VAL;
  if (exponent < -400) return 0;
  double value = 1;
  std::int64_t twos = 0;
  int scale = 0;
  double square = std::frexp(10.0, &scale);
  std::int64_t square_twos = scale;
  for (std::int64_t i = std::abs(exponent); i != 0; i >>= 1U) {
    if ((i & 1) == 1) {
      value *= square;
      twos += square_twos;
    }
    square *= square;
    square_twos *= 2;
    if (square < .5) {
      square += square;
      --square_twos;
    }
  }
  if (exponent < 0) {
    value = 1 / value;
    twos = -twos;
  }
  return std::ldexp(value, static_cast<int>(twos));
}

Value round(const Call& call) {
  const double on = call.size() > 2 ? call.real(2) : 0.5;
  const double power = real_power_of_ten(call.integer(1));
  const double digits = power * cast_real(call[0]);
  double whole = 0;
  const double part = std::modf(digits, &whole);
  return (part >= on ? std::ceil(digits) : std::floor(digits)) / power;
}

}  // namespace

namespace {

/// "7.00" is 7, "7.5" is no integer.
std::string_view without_zero_decimals(std::string_view text) {
  const std::size_t end = text.find_last_not_of('0');
  return end != std::string_view::npos && end + 1 < text.size() && text[end] == '.' ? text.substr(0, end) : text;
}

}  // namespace

std::int64_t cast_integer(const Value& value) {
  switch (value.kind()) {
    case Kind::boolean:
      return value.as_bool() ? 1 : 0;
    case Kind::integer:
      return value.as_integer();
    case Kind::natural:
      return static_cast<std::int64_t>(value.as_natural());
    case Kind::real: {
      constexpr double kBound = 9223372036854775808.0;
      const double number = value.as_real();
      return std::fabs(number) < kBound ? static_cast<std::int64_t>(number) : INT64_MIN;
    }
    case Kind::text:
      return parse_integer(without_zero_decimals(value.as_text()), 0).value_or(0);
    default:
      return 0;
  }
}

std::int64_t clamped_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t value = 0;
  if (text.empty()) return 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    // Go stops here: what follows need be no digit.
    if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::uint64_t>(c - '0'), &value)) {
      value = UINT64_MAX;
      break;
    }
  }
  constexpr auto kLimit = std::uint64_t{1} << 63U;
  if (value >= kLimit) return negative ? INT64_MIN : INT64_MAX;
  return negative ? -static_cast<std::int64_t>(value) : static_cast<std::int64_t>(value);
}

double cast_real(const Value& value) {
  if (value.kind() == Kind::real) return value.as_real();
  if (value.is_text()) return parse_real(value.as_text()).value_or(0);
  return static_cast<double>(cast_integer(value));
}

std::vector<Function> number_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"add", "values ...any", "The sum of integers.", kSprig,
       [](const Call& c) { return c.size() == 0 ? Value::int64(0) : fold(c, add); }},
      {"add1", "value any", "One more.", kSprig,
       [](const Call& c) { return Value::int64(add(cast_integer(c[0]), 1)); }},
      {"sub", "a any, b any", "a - b, of integers.", kSprig,
       [](const Call& c) { return Value::int64(subtract(cast_integer(c[0]), cast_integer(c[1]))); }},
      {"mul", "value any, values ...any", "The product of integers.", kSprig,
       [](const Call& c) { return fold(c, multiply); }},
      {"div", "a any, b any", "a / b, of integers, cut to an integer.", kSprig, divide},
      {"mod", "a any, b any", "The remainder of a / b.", kSprig, modulo},
      {"max", "value any, values ...any", "The largest integer.", kSprig,
       [](const Call& c) { return fold(c, [](auto a, auto b) { return std::max(a, b); }); }},
      {"biggest", "value any, values ...any", "max by its old name.", kSprig,
       [](const Call& c) { return fold(c, [](auto a, auto b) { return std::max(a, b); }); }},
      {"min", "value any, values ...any", "The smallest integer.", kSprig,
       [](const Call& c) { return fold(c, [](auto a, auto b) { return std::min(a, b); }); }},
      {"maxf", "value any, values ...any", "The largest float.", kSprig,
       [](const Call& c) { return extreme(c, true); }},
      {"minf", "value any, values ...any", "The smallest float.", kSprig,
       [](const Call& c) { return extreme(c, false); }},
      {"floor", "value any", "The next integer below, as a float.", kSprig,
       [](const Call& c) -> Value { return std::floor(cast_real(c[0])); }},
      {"ceil", "value any", "The next integer above, as a float.", kSprig,
       [](const Call& c) -> Value { return std::ceil(cast_real(c[0])); }},
      {"round", "value any, places int, on ...float", "Rounded to so many places.", kSprig, round},
      {"until", "count int", "The list 0, 1, … below count.", kSprig,
       [](const Call& c) { return until(0, c.integer(0), c.integer(0) < 0 ? -1 : 1, c.run); }},
      {"untilStep", "start int, stop int, step int", "The list from start to before stop.", kSprig,
       [](const Call& c) { return until(c.integer(0), c.integer(1), c.integer(2), c.run); }},
      {"seq", "numbers ...int", "As seq(1): \"1 2 3\" for 3; start, end; or start, step, end.", kSprig, seq},
      {"atoi", "text string", "The integer in the text, or 0.", kSprig,
       [](const Call& c) -> Value { return clamped_integer(c.text(0)); }},
      {"int", "value any", "The value as an integer, or 0.", kSprig,
       [](const Call& c) -> Value { return cast_integer(c[0]); }},
      {"int64", "value any", "The value as an integer, or 0.", kSprig,
       [](const Call& c) { return Value::int64(cast_integer(c[0])); }},
      {"float64", "value any", "The value as a float, or 0.", kSprig,
       [](const Call& c) -> Value { return cast_real(c[0]); }},
      {"toDecimal", "value any", "Octal digits as a number: 0755 is 493.", kSprig,
       [](const Call& c) { return Value::int64(parse_integer(to_text(c[0], c.run), 8).value_or(0)); }},
  };
}

}  // namespace underway::gotemplate
