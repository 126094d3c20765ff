#include "hcl/detail/arguments.hpp"

#include <fmt/format.h>

#include <cmath>

namespace underway::hcl::detail {

namespace {

Value extreme(const Arguments& arguments, bool largest) {
  Number best = arguments.number(0);
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const Number next = arguments.number(i);
    arguments.budget().number(best.bits());
    if (largest ? next > best : next < best) best = next;
  }
  return best;
}

Value logarithm(const Arguments& arguments) {
  const double number = arguments.number(0).to_double();
  const double base = arguments.number(1).to_double();
  if (number <= 0) throw ArgumentError(0, "a number greater than 0 is required");
  if (base <= 0 || base == 1) throw ArgumentError(1, "a base greater than 0 and other than 1 is required");
  return Number::from_double(std::log(number) / std::log(base));
}

/// Exact for integral exponents, by squaring.
Value power(const Arguments& arguments) {
  Number base = arguments.number(0);
  const Number exponent = arguments.number(1);
  const auto integral = exponent.to_int64();
  if (!integral || std::abs(static_cast<double>(*integral)) > Number::kMaxBits) {
    return Number::from_double(std::pow(base.to_double(), exponent.to_double()));
  }
  if (*integral < 0 && base.is_zero()) throw ArgumentError(0, "0 has no negative power");
  Number result = 1;
  for (std::int64_t left = std::abs(*integral); left > 0; left /= 2) {
    arguments.budget().number(result.bits() + base.bits());
    if (left % 2 == 1) result = result * base;
    if (left > 1) base = base * base;
  }
  return *integral < 0 ? Number(1) / result : result;
}

Value parse_int(const Arguments& arguments) {
  const std::string text = arguments.text(0);
  const std::int64_t base = arguments.integer(1);
  if (base < 2 || base > 62) throw ArgumentError(1, "a base from 2 to 62 is required");
  arguments.budget().number(text.size() * 6);  // a digit of base 62 is 6 bits
  const auto number = Number::parse_integer(text, static_cast<int>(base));
  if (!number) throw ArgumentError(0, fmt::format("{} is no integer in base {}", describe(Value(text), 60), base));
  return *number;
}

}  // namespace

void add_number_functions(Entries& entries) {
  entries["abs"] = {"number", 1, 1, [](const Call& call) -> Value {
                      const Number number = Arguments(call).number(0);
                      return number.sign() < 0 ? -number : number;
                    }};
  entries["ceil"] = {"number", 1, 1, [](const Call& call) -> Value { return -floor(-Arguments(call).number(0)); }};
  entries["floor"] = {"number", 1, 1, [](const Call& call) -> Value { return floor(Arguments(call).number(0)); }};
  entries["log"] = {"number, base", 2, 2, [](const Call& call) { return logarithm(Arguments(call)); }};
  entries["max"] = {"numbers…", 1, Function::kAny, [](const Call& call) { return extreme(Arguments(call), true); }};
  entries["min"] = {"numbers…", 1, Function::kAny, [](const Call& call) { return extreme(Arguments(call), false); }};
  entries["parseint"] = {"text, base", 2, 2, [](const Call& call) { return parse_int(Arguments(call)); }};
  entries["pow"] = {"number, exponent", 2, 2, [](const Call& call) { return power(Arguments(call)); }};
  entries["signum"] = {"number", 1, 1, [](const Call& call) -> Value { return Arguments(call).number(0).sign(); }};
}

}  // namespace underway::hcl::detail
