#include "gotemplate/functions/decimal.hpp"

#include "base/error.hpp"
#include "gotemplate/functions/library.hpp"

#include <charconv>
#include <cmath>

namespace underway::gotemplate {

namespace {

boost::multiprecision::cpp_int power_of_ten(std::int64_t exponent) {
  return boost::multiprecision::pow(boost::multiprecision::cpp_int(10), static_cast<unsigned>(exponent));
}

}  // namespace

Decimal::Decimal(double value) {
  if (!std::isfinite(value))
    throw Error(Code::invalid, fmt::format("Cannot create a Decimal from {}", std::isnan(value) ? "NaN" : "Inf"));
  char text[40];
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  const std::string_view written(text, static_cast<std::size_t>(end - text));
  const std::size_t e = written.find('e');
  std::string digits;
  for (const char c : written.substr(0, e))
    if (c != '.') digits += c;
  const std::string_view power = written.substr(e + 1);
  std::from_chars(power.data() + (power[0] == '+' ? 1 : 0), end, exponent_);
  exponent_ -= static_cast<std::int64_t>(digits.size()) - (digits[0] == '-' ? 2 : 1);
  coefficient_.assign(digits);
  if (coefficient_ == 0) exponent_ = 0;
}

void Decimal::charge(const Decimal& other, Run& run) const {
  const auto bits = [](const Integer& value) {
    return value == 0 ? 0U : boost::multiprecision::msb(boost::multiprecision::abs(value));
  };
  const auto apart = static_cast<std::uint64_t>(std::abs(exponent_ - other.exponent_)) * 4;
  const std::uint64_t size = bits(coefficient_) + bits(other.coefficient_) + apart;
  run.make(size / 8 + 64);
  run.step(1 + size / 64 * (size / 64) / 16);
}

Decimal::Integer Decimal::at(std::int64_t exponent) const { return coefficient_ * power_of_ten(exponent_ - exponent); }

Decimal Decimal::add(const Decimal& other, Run& run) const {
  charge(other, run);
  const std::int64_t least = std::min(exponent_, other.exponent_);
  return {at(least) + other.at(least), least};
}

Decimal Decimal::subtract(const Decimal& other, Run& run) const {
  charge(other, run);
  const std::int64_t least = std::min(exponent_, other.exponent_);
  return {at(least) - other.at(least), least};
}

Decimal Decimal::multiply(const Decimal& other, Run& run) const {
  charge(other, run);
  return {coefficient_ * other.coefficient_, exponent_ + other.exponent_};
}

Decimal Decimal::divide(const Decimal& other, Run& run) const {
  constexpr std::int64_t kPlaces = 16;
  if (other.coefficient_ == 0) throw Error(Code::invalid, "decimal division by 0");
  charge(other, run);
  // The quotient in units of 10^-16, and what is left of it.
  const std::int64_t shift = exponent_ - other.exponent_ + kPlaces;
  const Integer above = shift > 0 ? Integer(coefficient_ * power_of_ten(shift)) : coefficient_;
  const Integer below = shift < 0 ? Integer(other.coefficient_ * power_of_ten(-shift)) : other.coefficient_;
  Integer quotient;
  Integer left;
  boost::multiprecision::divide_qr(above, below, quotient, left);
  if (boost::multiprecision::abs(left) * 2 >= boost::multiprecision::abs(below))
    quotient += (coefficient_ < 0) != (other.coefficient_ < 0) ? -1 : 1;
  return {std::move(quotient), -kPlaces};
}

double Decimal::real() const {
  if (coefficient_ == 0) return 0;
  const std::string text = coefficient_.str() + "e" + std::to_string(exponent_);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc::result_out_of_range) return value;
  const bool small = static_cast<std::int64_t>(text.find('e')) + exponent_ < 0;
  const double limit = small ? 0 : HUGE_VAL;
  return coefficient_ < 0 ? -limit : limit;
}

namespace {

using Operation = Decimal (Decimal::*)(const Decimal&, Run&) const;

Value fold(Decimal value, std::span<const Value> others, Operation operation, Run& run) {
  for (const Value& other : others) value = (value.*operation)(Decimal(cast_real(other)), run);
  return value.real();
}

Value fold(const Call& call, Operation operation) {
  return fold(Decimal(cast_real(call[0])), call.arguments.subspan(1), operation, call.run);
}

}  // namespace

std::vector<Function> decimal_functions() {
  constexpr Origin kSprig = Origin::sprig;
  return {
      {"add1f", "value any", "One more, of a decimal.", kSprig,
       [](const Call& c) -> Value { return Decimal(cast_real(c[0])).add(Decimal(1), c.run).real(); }},
      {"addf", "values ...any", "The sum of decimals: 0.1 and 0.2 are 0.3.", kSprig,
       [](const Call& c) { return fold(Decimal(0), c.arguments, &Decimal::add, c.run); }},
      {"subf", "value any, values ...any", "The first decimal less the others.", kSprig,
       [](const Call& c) { return fold(c, &Decimal::subtract); }},
      {"mulf", "value any, values ...any", "The product of decimals.", kSprig,
       [](const Call& c) { return fold(c, &Decimal::multiply); }},
      {"divf", "value any, values ...any", "The first decimal divided by the others, to 16 places.", kSprig,
       [](const Call& c) { return fold(c, &Decimal::divide); }},
  };
}

}  // namespace underway::gotemplate
