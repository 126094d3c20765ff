#include "hcl/detail/arguments.hpp"

#include <fmt/format.h>

#include <algorithm>
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

double real(const Arguments& arguments, std::size_t i) { return arguments.number(i).to_double(); }

/// The natural logarithm as FreeBSD's e_log.c and Go compute it: the last bit differs from libm's.
double natural_log(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kTerms[] = {6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01,
                               2.222219843214978396e-01, 1.818357216161805012e-01, 1.531383769920937332e-01,
                               1.479819860511658591e-01};
  if (!(x > 0) || std::isinf(x)) return std::log(x);
  int exponent = 0;
  double fraction = std::frexp(x, &exponent);
  if (fraction < std::sqrt(2.0) / 2) {
    fraction *= 2;
    --exponent;
  }
  const double f = fraction - 1;
  const double s = f / (2 + f);
  const double s2 = s * s;
  const double s4 = s2 * s2;
  const double odd = s2 * (kTerms[0] + s4 * (kTerms[2] + s4 * (kTerms[4] + s4 * kTerms[6])));
  const double even = s4 * (kTerms[1] + s4 * (kTerms[3] + s4 * kTerms[5]));
  const double half = 0.5 * f * f;
  return exponent * kLn2High - ((half - (s * (half + (odd + even)) + exponent * kLn2Low)) - f);
}

Value logarithm(const Arguments& arguments) {
  return Number::binary(natural_log(real(arguments, 0)) / natural_log(real(arguments, 1)));
}

/// By squaring, with the exponent apart, as Go's math.Pow does it.
double go_pow(double x, double y) {
  if (x == 0 || y == 0 || x == 1 || !std::isfinite(x) || !std::isfinite(y) || std::abs(y) >= 0x1p63)
    return std::pow(x, y);
  if (y == 0.5) return std::sqrt(x);
  if (y == -0.5) return 1 / std::sqrt(x);
  double whole = 0;
  double rest = std::modf(std::abs(y), &whole);
  if (rest != 0 && x < 0) return std::nan("");
  double result = 1;
  std::int64_t exponent = 0;
  if (rest != 0) {
    if (rest > 0.5) {
      rest -= 1;
      whole += 1;
    }
    result = std::exp(rest * natural_log(x));
  }
  int first = 0;
  double factor = std::frexp(x, &first);
  std::int64_t power = first;
  for (auto left = static_cast<std::int64_t>(whole); left != 0; left >>= 1) {
    if (power < -(1 << 12) || power > (1 << 12)) {
      exponent += power;
      break;
    }
    if (left & 1) {
      result *= factor;
      exponent += power;
    }
    factor *= factor;
    power <<= 1;
    if (std::abs(factor) < 0.5) {
      factor += factor;
      --power;
    }
  }
  if (y < 0) {
    result = 1 / result;
    exponent = -exponent;
  }
  return std::ldexp(result, static_cast<int>(std::clamp<std::int64_t>(exponent, -100'000, 100'000)));
}

/// In double precision, as cty does it: pow(10, 40) is not exact.
Value power(const Arguments& arguments) { return Number::binary(go_pow(real(arguments, 0), real(arguments, 1))); }

Value parse_int(const Arguments& arguments) {
  if (!arguments[0].is_string()) throw ArgumentError(0, "a string is required");
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
                      return number.is_negative() ? -number : number;
                    }};
  entries["ceil"] = {"number", 1, 1, [](const Call& call) -> Value { return ceil(Arguments(call).number(0)); }};
  entries["floor"] = {"number", 1, 1, [](const Call& call) -> Value { return floor(Arguments(call).number(0)); }};
  entries["log"] = {"number, base", 2, 2, [](const Call& call) { return logarithm(Arguments(call)); }};
  entries["max"] = {"numbers…", 1, Function::kAny, [](const Call& call) { return extreme(Arguments(call), true); }};
  entries["min"] = {"numbers…", 1, Function::kAny, [](const Call& call) { return extreme(Arguments(call), false); }};
  entries["parseint"] = {"text, base", 2, 2, [](const Call& call) { return parse_int(Arguments(call)); }};
  entries["pow"] = {"number, exponent", 2, 2, [](const Call& call) { return power(Arguments(call)); }};
  entries["signum"] = {"number", 1, 1, [](const Call& call) -> Value {
                         const std::int64_t number = Arguments(call).integer(0);
                         return number < 0 ? -1 : number > 0 ? 1 : 0;
                       }};
}

}  // namespace underway::hcl::detail
