// Arithmetic: Sprig's, which takes texts for numbers and 0 for what is none.
#include "base/error.hpp"
#include "gotemplate/detail/library.hpp"
#include "gotemplate/detail/literal.hpp"
#include "gotemplate/format.hpp"

#include <cmath>

namespace underway::gotemplate::detail {

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

template <class F>
Value fold_real(const Call& call, F combine) {
  double value = cast_real(call[0]);
  for (const Value& other : call.arguments.subspan(1)) value = combine(value, cast_real(other));
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
  return Value::list(std::move(items));
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

Value round(const Call& call) {
  if (call.size() > 3) throw Error(Code::invalid, "round takes a number, places and at most one bound");
  const double on = call.size() > 2 ? call.real(2) : 0.5;
  const double power = std::pow(10, static_cast<double>(call.integer(1)));
  const double digits = power * cast_real(call[0]);
  double whole = 0;
  const double part = std::modf(digits, &whole);
  return (part >= on ? std::ceil(digits) : std::floor(digits)) / power;
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
      return parse_integer(value.as_text(), 0).value_or(0);
    case Kind::object:
      return parse_integer(value.as_object().text(), 0).value_or(0);
    default:
      return 0;
  }
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
      {"add1f", "value any", "One more, of a float.", kSprig,
       [](const Call& c) -> Value { return cast_real(c[0]) + 1; }},
      {"addf", "values ...any", "The sum of floats.", kSprig,
       [](const Call& c) {
         return c.size() == 0 ? Value(0.0) : fold_real(c, [](double a, double b) { return a + b; });
       }},
      {"subf", "value any, values ...any", "The first float less the others.", kSprig,
       [](const Call& c) { return fold_real(c, [](double a, double b) { return a - b; }); }},
      {"mulf", "value any, values ...any", "The product of floats.", kSprig,
       [](const Call& c) { return fold_real(c, [](double a, double b) { return a * b; }); }},
      {"divf", "value any, values ...any", "The first float divided by the others.", kSprig,
       [](const Call& c) {
         return fold_real(c, [](double a, double b) {
           if (b == 0) throw Error(Code::invalid, "decimal division by 0");
           return a / b;
         });
       }},
      {"maxf", "value any, values ...any", "The largest float.", kSprig,
       [](const Call& c) { return fold_real(c, [](double a, double b) { return std::fmax(a, b); }); }},
      {"minf", "value any, values ...any", "The smallest float.", kSprig,
       [](const Call& c) { return fold_real(c, [](double a, double b) { return std::fmin(a, b); }); }},
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
       [](const Call& c) -> Value { return parse_integer(c.text(0), 10).value_or(0); }},
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

}  // namespace underway::gotemplate::detail
