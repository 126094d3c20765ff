#include "hcl/number.hpp"

#include "base/error.hpp"
#include "hcl/detail/big_number.hpp"

#include <fmt/format.h>

#include <cmath>

namespace underway::hcl {

namespace mp = boost::multiprecision;
using detail::BigNumber;
using detail::bit_length;
using detail::Integer;

namespace {

/// Powers of two that are looked at beyond what can be written: a tiny number beside a large one.
constexpr std::int64_t kMaxExponent = Number::kMaxBits + 2 * Number::kPrecision;

void normalize(BigNumber& big) {
  if (big.mantissa == 0) {
    big.exponent = 0;
    return;
  }
  const auto zeros = mp::lsb(big.mantissa < 0 ? Integer(-big.mantissa) : big.mantissa);
  if (zeros == 0) return;
  big.mantissa = big.mantissa < 0 ? Integer(-(Integer(-big.mantissa) >> zeros)) : Integer(big.mantissa >> zeros);
  big.exponent += static_cast<std::int64_t>(zeros);
}

/// Cuts `excess` bits off, half to even; `more` says that what follows the mantissa is not zero.
void round_off(BigNumber& big, std::int64_t excess, bool more) {
  const bool negative = big.mantissa < 0;
  Integer magnitude = negative ? Integer(-big.mantissa) : big.mantissa;
  const auto cut = static_cast<unsigned>(excess);
  const bool half = mp::bit_test(magnitude, cut - 1);
  const bool rest = more || mp::lsb(magnitude) < cut - 1;
  magnitude >>= cut;
  if (half && (rest || mp::bit_test(magnitude, 0))) magnitude += 1;
  big.mantissa = negative ? Integer(-magnitude) : magnitude;
  big.exponent += excess;
}

Integer shifted(const Integer& mantissa, std::int64_t by) { return mantissa << static_cast<unsigned>(by); }

/// Both mantissas at the smaller of the exponents.
std::int64_t align(BigNumber& a, BigNumber& b) {
  const std::int64_t exponent = std::min(a.exponent, b.exponent);
  a.mantissa = shifted(a.mantissa, a.exponent - exponent);
  b.mantissa = shifted(b.mantissa, b.exponent - exponent);
  return exponent;
}

Integer truncated(const BigNumber& big) {
  if (big.exponent >= 0) return shifted(big.mantissa, big.exponent);
  const auto cut = static_cast<unsigned>(-big.exponent);
  return big.mantissa < 0 ? Integer(-(Integer(-big.mantissa) >> cut)) : Integer(big.mantissa >> cut);
}

}  // namespace

Number Number::rounded(BigNumber&& big, unsigned precision, bool minus_zero) {
  normalize(big);
  if (const std::int64_t excess = bit_length(big.mantissa) - static_cast<std::int64_t>(precision); excess > 0) {
    round_off(big, excess, false);
    normalize(big);
  }
  Number number;
  number.precision_ = static_cast<std::uint16_t>(precision);
  number.minus_zero_ = minus_zero && big.mantissa == 0;
  const std::int64_t top = bit_length(big.mantissa) + big.exponent;
  if (top > kMaxBits || big.exponent < -kMaxExponent) {
    throw Error(Code::too_large, top > 0 ? "a number has become too large" : "a number has become too small")
        .because(fmt::format("the limit is {} bits", kMaxBits));
  }
  if (big.exponent >= 0 && top <= 63) {
    number.small_ = static_cast<std::int64_t>(shifted(big.mantissa, big.exponent));
  } else {
    number.big_ = std::make_shared<const BigNumber>(std::move(big));
  }
  return number;
}

BigNumber Number::big() const {
  if (big_) return *big_;
  BigNumber big{Integer(small_), 0};
  normalize(big);
  return big;
}

std::optional<Number> Number::parse_integer(std::string_view text, int base) {
  const bool negative = !text.empty() && text[0] == '-';
  if (negative || (!text.empty() && text[0] == '+')) text.remove_prefix(1);
  if (text.empty() || text.size() > kMaxBits || base < 2 || base > 62) return std::nullopt;
  Integer value = 0;
  for (const char c : text) {
    int digit = 99;
    if (c >= '0' && c <= '9') digit = c - '0';
    if (c >= 'a' && c <= 'z') digit = c - 'a' + 10;
    if (c >= 'A' && c <= 'Z') digit = c - 'A' + (base <= 36 ? 10 : 36);
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  // Go's Float.SetInt: as many bits as the integer has, at least 64.
  const auto length = static_cast<unsigned>(bit_length(value));
  if (length > kMaxBits) return std::nullopt;
  return rounded({negative ? Integer(-value) : value, 0}, std::max(64U, length));
}

Number Number::from_double(double value) {
  if (!std::isfinite(value)) throw Error(Code::invalid, "the result is no finite number");
  const auto number = parse(fmt::format("{}", value));
  if (!number) throw Error(Code::internal, fmt::format("cannot read back the number {}", value));
  return *number;
}

Number Number::binary(double value) {
  if (!std::isfinite(value)) throw Error(Code::invalid, "the result is no finite number");
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return rounded({Integer(static_cast<std::int64_t>(std::ldexp(fraction, 53))), exponent - 53}, 53,
                 std::signbit(value));
}

bool Number::is_integer() const { return !big_ || big_->exponent >= 0; }

int Number::sign() const {
  if (!big_) return small_ < 0 ? -1 : small_ > 0 ? 1 : 0;
  return big_->mantissa < 0 ? -1 : 1;
}

std::uint64_t Number::bits() const {
  if (!big_) return 64;
  const std::int64_t length = bit_length(big_->mantissa);
  return static_cast<std::uint64_t>(std::max(length, big_->exponent >= 0 ? length + big_->exponent : -big_->exponent));
}

std::optional<std::int64_t> Number::to_int64() const {
  if (!big_) return small_;
  if (*this == Number(INT64_MIN)) return INT64_MIN;
  return std::nullopt;
}

double Number::to_double() const {
  if (!big_) return static_cast<double>(small_);
  BigNumber big = *big_;
  if (const std::int64_t excess = bit_length(big.mantissa) - 53; excess > 0) {
    // One rounding only: of what is below the smallest double the bits are fewer.
    const std::int64_t lowest = big.exponent + excess;
    round_off(big, lowest < -1074 ? std::min(excess - (lowest + 1074), bit_length(big.mantissa)) : excess, false);
  }
  return std::ldexp(big.mantissa.convert_to<double>(), static_cast<int>(big.exponent));
}

std::string Number::digits(int base) const {
  const Integer whole = mp::abs(truncated(big()));
  if (base == 10) return whole.str();
  const unsigned step = base == 2 ? 1 : base == 8 ? 3 : 4;
  std::string out;
  const auto length = static_cast<unsigned>(bit_length(whole));
  for (unsigned at = (length + step - 1) / step; at-- > 0;) {
    unsigned digit = 0;
    for (unsigned bit = step; bit-- > 0;) digit = digit * 2 + (mp::bit_test(whole, at * step + bit) ? 1 : 0);
    out += "0123456789abcdef"[digit];
  }
  return out.empty() ? "0" : out;
}

Number Number::operator-() const {
  if (!big_ && small_ != INT64_MIN) {
    Number number = *this;
    number.small_ = -small_;
    number.minus_zero_ = small_ == 0 && !minus_zero_;
    return number;
  }
  BigNumber negated = big();
  negated.mantissa = -negated.mantissa;
  return rounded(std::move(negated), precision_);
}

Number operator+(const Number& a, const Number& b) {
  const unsigned precision = std::max(a.precision_, b.precision_);
  std::int64_t small = 0;
  if (!a.big_ && !b.big_ && precision >= 64 && !__builtin_add_overflow(a.small_, b.small_, &small)) {
    Number sum(small);
    sum.precision_ = static_cast<std::uint16_t>(precision);
    sum.minus_zero_ = a.minus_zero_ && b.minus_zero_;
    return sum;
  }
  BigNumber left = a.big();
  BigNumber right = b.big();
  const std::int64_t exponent = align(left, right);
  return Number::rounded({left.mantissa + right.mantissa, exponent}, precision, a.minus_zero_ && b.minus_zero_);
}

Number operator-(const Number& a, const Number& b) { return a + -b; }

Number operator*(const Number& a, const Number& b) {
  const bool minus = a.is_negative() != b.is_negative();
  BigNumber product{a.big().mantissa * b.big().mantissa, a.big().exponent + b.big().exponent};
  // At least the precision of both, and more when the product needs it.
  normalize(product);
  const std::int64_t needed = std::min<std::int64_t>(bit_length(product.mantissa), Number::kPrecision);
  const auto precision = std::max<unsigned>({a.precision_, b.precision_, static_cast<unsigned>(needed)});
  Number once = Number::rounded(std::move(product), std::max(precision, Number::kPrecision), minus);
  return Number::rounded(once.big(), precision, minus);
}

Number operator/(const Number& a, const Number& b) {
  if (b.is_zero()) throw Error(Code::invalid, "division by zero");
  const unsigned precision = std::max(a.precision_, b.precision_);
  const bool minus = a.is_negative() != b.is_negative();
  const BigNumber dividend = a.big();
  const BigNumber divisor = b.big();
  Integer numerator = mp::abs(dividend.mantissa);
  const Integer denominator = mp::abs(divisor.mantissa);
  // Two bits more than the result keeps, and whether anything is left: that is enough to round once.
  const std::int64_t up = std::max<std::int64_t>(
      0, static_cast<std::int64_t>(precision) + 2 + bit_length(denominator) - bit_length(numerator));
  numerator = shifted(numerator, up);
  Integer quotient;
  Integer rest;
  mp::divide_qr(numerator, denominator, quotient, rest);
  BigNumber result{quotient * 2 + (rest == 0 ? 0 : 1), dividend.exponent - divisor.exponent - up - 1};
  if (minus) result.mantissa = -result.mantissa;
  return Number::rounded(std::move(result), precision, minus);
}

Number remainder(const Number& a, const Number& b) {
  if (b.is_zero()) return a;
  const Number quotient = a / b;
  const Number whole = Number::rounded({truncated(quotient.big()), 0}, a.precision_);
  const bool minus = whole.is_negative() != b.is_negative();
  BigNumber product{whole.big().mantissa * b.big().mantissa, whole.big().exponent + b.big().exponent};
  const Number taken = Number::rounded(std::move(product), a.precision_, minus);
  BigNumber left = a.big();
  BigNumber right = taken.big();
  const std::int64_t exponent = align(left, right);
  return Number::rounded({left.mantissa - right.mantissa, exponent}, a.precision_, a.is_negative() && a.is_zero());
}

Number floor(const Number& a) {
  if (a.minus_zero_) return -a;
  if (a.is_integer()) return a;
  Integer whole = truncated(a.big());
  if (a.sign() < 0) whole -= 1;
  return Number::rounded({whole, 0}, a.precision_);
}

Number ceil(const Number& a) {
  if (a.minus_zero_) return -a;
  if (a.is_integer()) return a;
  Integer whole = truncated(a.big());
  if (a.sign() > 0) whole += 1;
  return Number::rounded({whole, 0}, a.precision_);
}

bool operator==(const Number& a, const Number& b) {
  if (!a.big_ && !b.big_) return a.small_ == b.small_;
  if ((a <=> b) == 0) return true;
  // Only what has another precision, or is written shorter than it is, can still be written the same.
  return a.sign() == b.sign() && !a.is_integer() && !b.is_integer() && a.to_string() == b.to_string();
}

std::strong_ordering operator<=>(const Number& a, const Number& b) {
  if (!a.big_ && !b.big_) return a.small_ <=> b.small_;
  if (a.sign() != b.sign()) return a.sign() <=> b.sign();
  BigNumber left = a.big();
  BigNumber right = b.big();
  align(left, right);
  return left.mantissa.compare(right.mantissa) <=> 0;
}

}  // namespace underway::hcl
