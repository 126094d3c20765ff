#include "hcl/number.hpp"

#include "base/error.hpp"

#include <boost/multiprecision/cpp_int.hpp>

#include <fmt/format.h>

#include <cmath>

namespace underway::hcl {

namespace mp = boost::multiprecision;
using Integer = mp::cpp_int;
using Rational = mp::cpp_rational;

namespace detail {
struct BigNumber {
  Rational value;
};
}  // namespace detail

namespace {

constexpr std::size_t kSignificantDigits = 154;
constexpr std::size_t kMaxDigits = Number::kMaxBits * 3 / 10;  // log10(2) = 0.30103
constexpr int kMaxExponent = static_cast<int>(kMaxDigits);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

unsigned bits_of(const Integer& integer) {
  return integer == 0 ? 0 : static_cast<unsigned>(mp::msb(integer < 0 ? Integer(-integer) : integer)) + 1;
}

Integer power_of_ten(std::size_t exponent) { return mp::pow(Integer(10), static_cast<unsigned>(exponent)); }

/// How many decimals the fraction 1/denominator has; nothing when it never ends or has more than the limit.
std::optional<std::size_t> decimals_of(Integer denominator) {
  std::size_t twos = 0;
  std::size_t fives = 0;
  while (twos <= kSignificantDigits && denominator % 2 == 0) denominator /= 2, ++twos;
  while (fives <= kSignificantDigits && denominator % 5 == 0) denominator /= 5, ++fives;
  const std::size_t decimals = std::max(twos, fives);
  return denominator == 1 && decimals <= kSignificantDigits ? std::optional(decimals) : std::nullopt;
}

std::string with_point(std::string digits, std::size_t decimals) {
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  digits.insert(digits.size() - decimals, ".");
  while (digits.back() == '0') digits.pop_back();
  if (digits.back() == '.') digits.pop_back();
  return digits;
}

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 36;
  return 99;
}

}  // namespace

Number Number::from_big(detail::BigNumber&& big) {
  const Integer& numerator = mp::numerator(big.value);
  const Integer& denominator = mp::denominator(big.value);
  if (bits_of(numerator) > kMaxBits || bits_of(denominator) > kMaxBits) {
    throw Error(Code::too_large, "a number has become too large")
        .because(fmt::format("the limit is {} bits", kMaxBits));
  }
  if (denominator == 1 && numerator >= INT64_MIN && numerator <= INT64_MAX) return static_cast<std::int64_t>(numerator);
  Number number;
  number.big_ = std::make_shared<const detail::BigNumber>(std::move(big));
  return number;
}

detail::BigNumber Number::big() const { return big_ ? *big_ : detail::BigNumber{Rational(small_)}; }

std::optional<Number> Number::parse(std::string_view text) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) ++at;
  std::string digits;
  std::size_t decimals = 0;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  digits = text.substr(first, at - first);
  if (digits.empty()) return std::nullopt;
  if (at < text.size() && text[at] == '.') {
    const std::size_t fraction = ++at;
    while (at < text.size() && is_digit(text[at])) ++at;
    decimals = at - fraction;
    if (decimals == 0) return std::nullopt;
    digits += text.substr(fraction, decimals);
  }
  int exponent = 0;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    const bool down = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) {
      if (exponent <= kMaxExponent) exponent = exponent * 10 + (text[at] - '0');
      ++at;
    }
    if (at == start) return std::nullopt;
    if (down) exponent = -exponent;
  }
  if (at != text.size() || digits.size() > kMaxDigits) return std::nullopt;
  if (decimals == 0 && exponent == 0 && digits.size() <= 18) {
    std::int64_t small = 0;
    for (const char c : digits) small = small * 10 + (c - '0');
    return Number(negative ? -small : small);
  }
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
  // A leading zero would make cpp_int read octal.
  const std::size_t nonzero = digits.find_first_not_of('0');
  if (nonzero == std::string::npos) return Number(0);
  Integer mantissa(digits.substr(nonzero));
  if (negative) mantissa = -mantissa;
  const std::int64_t scale = exponent - static_cast<std::int64_t>(decimals);
  if (scale > 2 * kMaxExponent || scale < -2 * kMaxExponent) return std::nullopt;
  try {
    if (scale >= 0) return from_big({Rational(Integer(mantissa * power_of_ten(static_cast<std::size_t>(scale))))});
    return from_big({Rational(mantissa, power_of_ten(static_cast<std::size_t>(-scale)))});
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<Number> Number::parse_integer(std::string_view text, int base) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || text.size() > kMaxBits || base < 2 || base > 62) return std::nullopt;
  Integer value = 0;
  for (const char c : text) {
    int digit = digit_value(c);
    if (base <= 36 && digit >= 36 && digit < 99) digit -= 26;
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  if (bits_of(value) > kMaxBits) return std::nullopt;
  return from_big({Rational(negative ? Integer(-value) : value)});
}

Number Number::from_double(double value) {
  if (!std::isfinite(value)) throw Error(Code::invalid, "the result is no finite number");
  const auto number = parse(fmt::format("{}", value));
  if (!number) throw Error(Code::internal, fmt::format("cannot read back the number {}", value));
  return *number;
}

bool Number::is_integer() const { return !big_ || mp::denominator(big_->value) == 1; }

int Number::sign() const {
  if (!big_) return small_ < 0 ? -1 : small_ > 0 ? 1 : 0;
  return big_->value.sign();
}

std::uint64_t Number::bits() const {
  return big_ ? bits_of(mp::numerator(big_->value)) + bits_of(mp::denominator(big_->value)) : 64;
}

std::optional<std::int64_t> Number::to_int64() const { return big_ ? std::nullopt : std::optional(small_); }

double Number::to_double() const { return big_ ? big_->value.convert_to<double>() : static_cast<double>(small_); }

std::string Number::to_string() const {
  if (!big_) return fmt::format("{}", small_);
  const bool negative = big_->value.sign() < 0;
  const Integer numerator = mp::abs(mp::numerator(big_->value));
  const Integer& denominator = mp::denominator(big_->value);
  const std::string sign = negative ? "-" : "";
  if (denominator == 1) return sign + numerator.str();
  if (const auto decimals = decimals_of(denominator)) {
    return sign + with_point(Integer(numerator * power_of_ten(*decimals) / denominator).str(), *decimals);
  }
  const std::size_t top = numerator.str().size();
  const std::size_t bottom = denominator.str().size();
  // The quotient has top - bottom (or one more) digits before the point; when negative, that many zeros follow it.
  const std::size_t decimals = kSignificantDigits + bottom > top ? kSignificantDigits + bottom - top : 1;
  const Integer scaled = (numerator * power_of_ten(decimals) * 2 + denominator) / (denominator * 2);
  return sign + with_point(scaled.str(), decimals);
}

Number Number::operator-() const {
  if (!big_ && small_ != INT64_MIN) return -small_;
  return from_big({Rational(-big().value)});
}

Number operator+(const Number& a, const Number& b) {
  std::int64_t small = 0;
  if (!a.big_ && !b.big_ && !__builtin_add_overflow(a.small_, b.small_, &small)) return small;
  return Number::from_big({Rational(a.big().value + b.big().value)});
}

Number operator-(const Number& a, const Number& b) {
  std::int64_t small = 0;
  if (!a.big_ && !b.big_ && !__builtin_sub_overflow(a.small_, b.small_, &small)) return small;
  return Number::from_big({Rational(a.big().value - b.big().value)});
}

Number operator*(const Number& a, const Number& b) {
  std::int64_t small = 0;
  if (!a.big_ && !b.big_ && !__builtin_mul_overflow(a.small_, b.small_, &small)) return small;
  return Number::from_big({Rational(a.big().value * b.big().value)});
}

Number operator/(const Number& a, const Number& b) {
  if (b.is_zero()) throw Error(Code::invalid, "division by zero");
  if (!a.big_ && !b.big_ && b.small_ != -1 && a.small_ % b.small_ == 0) return a.small_ / b.small_;
  return Number::from_big({Rational(a.big().value / b.big().value)});
}

Number remainder(const Number& a, const Number& b) {
  if (b.is_zero()) throw Error(Code::invalid, "division by zero");
  if (!a.big_ && !b.big_ && b.small_ != -1) return a.small_ % b.small_;
  const Rational quotient = a.big().value / b.big().value;
  const Integer whole = mp::numerator(quotient) / mp::denominator(quotient);
  return Number::from_big({Rational(a.big().value - b.big().value * Rational(whole))});
}

Number floor(const Number& a) {
  if (a.is_integer()) return a;
  const Integer& numerator = mp::numerator(a.big_->value);
  const Integer& denominator = mp::denominator(a.big_->value);
  Integer whole = numerator / denominator;
  if (numerator < 0) whole -= 1;
  return Number::from_big({Rational(whole)});
}

std::strong_ordering operator<=>(const Number& a, const Number& b) {
  if (!a.big_ && !b.big_) return a.small_ <=> b.small_;
  const int order = a.big().value.compare(b.big().value);
  return order <=> 0;
}

}  // namespace underway::hcl
