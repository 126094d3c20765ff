// Numbers and their texts, digit by digit as Go's math/big reads and writes them.
#include "base/error.hpp"
#include "base/text.hpp"
#include "hcl/detail/big_number.hpp"
#include "hcl/number.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::hcl {

namespace mp = boost::multiprecision;
using detail::BigNumber;
using detail::bit_length;
using detail::Decimal;
using detail::Integer;

namespace {

constexpr std::size_t kMaxDigits = Number::kMaxBits * 3 / 10;  // log10(2) = 0.30103
constexpr std::int64_t kMaxPower = static_cast<std::int64_t>(kMaxDigits);

/// mantissa * 2^exponent of at most `precision` bits.
BigNumber cut(BigNumber big, std::int64_t precision) {
  const std::int64_t excess = bit_length(big.mantissa) - precision;
  if (excess <= 0) return big;
  const auto bits = static_cast<unsigned>(excess);
  const bool half = mp::bit_test(big.mantissa, bits - 1);
  const bool rest = mp::lsb(big.mantissa) < bits - 1;
  big.mantissa >>= bits;
  if (half && (rest || mp::bit_test(big.mantissa, 0))) big.mantissa += 1;
  big.exponent += excess;
  return big;
}

/// 5^n to 576 bits, rounded after each product as Go's Float.pow5: beyond 5^248 that is seen in the last digits.
BigNumber power_of_five(std::uint64_t n) {
  constexpr std::uint64_t kTable = 27;
  constexpr std::int64_t kPrecision = Number::kPrecision + 64;
  BigNumber power{mp::pow(Integer(5), static_cast<unsigned>(std::min(n, kTable))), 0};
  if (n <= kTable) return power;
  BigNumber factor{Integer(5), 0};
  for (n -= kTable; n > 0; n >>= 1) {
    if (n & 1) power = cut({power.mantissa * factor.mantissa, power.exponent + factor.exponent}, kPrecision);
    factor = cut({factor.mantissa * factor.mantissa, 2 * factor.exponent}, kPrecision + 64);
  }
  return power;
}

/// What a decimal text says: digits * 10^tens * 2^twos.
struct Written {
  bool negative = false;
  std::string digits{};
  std::int64_t tens = 0;
  std::int64_t twos = 0;
};

std::optional<std::int64_t> exponent_at(std::string_view text, std::size_t& at) {
  const bool down = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const std::size_t start = at;
  std::int64_t exponent = 0;
  for (; at < text.size() && is_digit(text[at]); ++at)
    if (exponent <= kMaxPower * 10) exponent = exponent * 10 + (text[at] - '0');
  if (at == start) return std::nullopt;
  return down ? -exponent : exponent;
}

std::optional<Written> read(std::string_view text) {
  Written written;
  std::size_t at = 0;
  written.negative = text.starts_with('-');
  if (written.negative || text.starts_with('+')) ++at;
  const auto take_digits = [&] {
    const std::size_t first = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    written.digits += text.substr(first, at - first);
    return at - first;
  };
  take_digits();
  if (at < text.size() && text[at] == '.') {
    ++at;
    written.tens -= static_cast<std::int64_t>(take_digits());
  }
  if (written.digits.empty() || written.digits.size() > kMaxDigits) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E' || text[at] == 'p' || text[at] == 'P')) {
    const bool twos = text[at] == 'p' || text[at] == 'P';
    ++at;
    const auto exponent = exponent_at(text, at);
    if (!exponent) return std::nullopt;
    (twos ? written.twos : written.tens) += *exponent;
  }
  return at == text.size() ? std::optional(std::move(written)) : std::nullopt;
}

}  // namespace

std::optional<Number> Number::parse(std::string_view text) {
  const auto written = read(text);
  if (!written) return std::nullopt;
  const std::size_t nonzero = written->digits.find_first_not_of('0');
  if (nonzero == std::string::npos) return rounded({}, kPrecision, written->negative);
  const std::int64_t size = static_cast<std::int64_t>(written->digits.size() - nonzero);
  if (written->tens + size > kMaxPower || written->tens < -2 * kMaxPower || std::abs(written->twos) > kMaxBits)
    return std::nullopt;
  Integer mantissa(written->digits.substr(nonzero));  // a leading zero would make cpp_int read octal
  try {
    if (written->tens == 0)
      return rounded({written->negative ? Integer(-mantissa) : mantissa, written->twos}, kPrecision);
    const BigNumber five = power_of_five(static_cast<std::uint64_t>(std::abs(written->tens)));
    const std::int64_t twos = written->tens + written->twos;
    if (written->tens > 0) {
      mantissa *= five.mantissa;
      return rounded({written->negative ? Integer(-mantissa) : mantissa, twos + five.exponent}, kPrecision);
    }
    const std::int64_t up =
        std::max<std::int64_t>(0, std::int64_t{kPrecision} + 2 + bit_length(five.mantissa) - bit_length(mantissa));
    Integer quotient;
    Integer rest;
    mp::divide_qr(Integer(mantissa << static_cast<unsigned>(up)), five.mantissa, quotient, rest);
    quotient = quotient * 2 + (rest == 0 ? 0 : 1);
    return rounded({written->negative ? Integer(-quotient) : quotient, twos - five.exponent - up - 1}, kPrecision);
  } catch (const Error&) {
    return std::nullopt;
  }
}

namespace detail {

void Decimal::trim() {
  while (!digits.empty() && digits.back() == '0') digits.pop_back();
  if (digits.empty()) point = 0;
}

Decimal Decimal::of(const Integer& mantissa, std::int64_t exponent) {
  Decimal decimal;
  if (mantissa == 0) return decimal;
  if (exponent >= 0) {
    decimal.digits = Integer(mantissa << static_cast<unsigned>(exponent)).str();
    decimal.point = static_cast<std::int64_t>(decimal.digits.size());
  } else {
    decimal.digits = Integer(mantissa * mp::pow(Integer(5), static_cast<unsigned>(-exponent))).str();
    decimal.point = static_cast<std::int64_t>(decimal.digits.size()) + exponent;
  }
  decimal.trim();
  return decimal;
}

void Decimal::round(std::int64_t count) {
  if (count < 0 || count >= static_cast<std::int64_t>(digits.size())) return;
  const auto n = static_cast<std::size_t>(count);
  const bool half = digits[n] == '5' && n + 1 == digits.size();
  const bool up = half ? n > 0 && (digits[n - 1] - '0') % 2 != 0 : digits[n] >= '5';
  up ? round_up(n) : round_down(n);
}

void Decimal::round_up(std::size_t count) {
  if (count >= digits.size()) return;
  while (count > 0 && digits[count - 1] >= '9') --count;
  if (count == 0) {
    digits = "1";
    ++point;
    return;
  }
  ++digits[count - 1];
  digits.resize(count);
}

void Decimal::round_down(std::size_t count) {
  if (count >= digits.size()) return;
  digits.resize(count);
  trim();
}

Decimal shortest(const Integer& mantissa, std::int64_t exponent, unsigned precision) {
  Decimal exact = Decimal::of(mantissa, exponent);
  // The last bit of `unit` is half of the last bit that the precision has room for.
  const std::int64_t shift = static_cast<std::int64_t>(precision) + 1 - bit_length(mantissa);
  const Integer unit = shift >= 0 ? Integer(mantissa << static_cast<unsigned>(shift))
                                  : Integer(mantissa >> static_cast<unsigned>(-shift));
  const Decimal lower = Decimal::of(unit - 1, exponent - shift);
  const Decimal upper = Decimal::of(unit + 1, exponent - shift);
  const bool inclusive = !mp::bit_test(unit, 1);
  for (std::size_t i = 0; i < exact.digits.size(); ++i) {
    const char low = lower.at(i);
    const char digit = exact.digits[i];
    const char high = upper.at(i);
    const bool down = low != digit || (inclusive && i + 1 == lower.digits.size());
    const bool up = digit != high && (inclusive || digit + 1 < high || i + 1 < upper.digits.size());
    if (down && up) {
      exact.round(static_cast<std::int64_t>(i + 1));
      return exact;
    }
    if (down) {
      exact.round_down(i + 1);
      return exact;
    }
    if (up) {
      exact.round_up(i + 1);
      return exact;
    }
  }
  return exact;
}

}  // namespace detail

namespace {

std::string fixed(const Decimal& decimal, std::int64_t decimals) {
  std::string out;
  if (decimal.point > 0) {
    for (std::int64_t i = 0; i < decimal.point; ++i) out += decimal.at(static_cast<std::size_t>(i));
  } else {
    out = "0";
  }
  if (decimals <= 0) return out;
  out += '.';
  for (std::int64_t i = 0; i < decimals; ++i) {
    const std::int64_t at = decimal.point + i;
    out += at < 0 ? '0' : decimal.at(static_cast<std::size_t>(at));
  }
  return out;
}

std::string scientific(const Decimal& decimal, char letter, std::int64_t decimals) {
  std::string out(1, decimal.at(0));
  if (decimals > 0) {
    out += '.';
    for (std::int64_t i = 1; i <= decimals; ++i) out += decimal.at(static_cast<std::size_t>(i));
  }
  const std::int64_t exponent = decimal.digits.empty() ? 0 : decimal.point - 1;
  return fmt::format("{}{}{}{:02}", out, letter, exponent < 0 ? '-' : '+', std::abs(exponent));
}

std::string general(Decimal& decimal, char letter, std::int64_t precision) {
  const auto size = static_cast<std::int64_t>(decimal.digits.size());
  const bool shortest = precision < 0;
  if (shortest) precision = size;
  std::int64_t limit = precision;
  if (limit > size && size >= decimal.point) limit = size;
  if (shortest) limit = 6;
  const std::int64_t exponent = decimal.point - 1;
  if (exponent < -4 || exponent >= limit)
    return scientific(decimal, static_cast<char>(letter - 2), std::min(precision, size) - 1);
  if (precision > decimal.point) precision = size;
  return fixed(decimal, std::max<std::int64_t>(precision - decimal.point, 0));
}

}  // namespace

std::string Number::to_string() const {
  constexpr std::int64_t kExactInDoubles = std::int64_t{1} << 53;
  const bool exact = precision_ >= 64 || (small_ < kExactInDoubles && small_ > -kExactInDoubles);
  if (!big_ && exact) return minus_zero_ ? "-0" : fmt::format("{}", small_);
  return format('f', -1);
}

std::string Number::format(char verb, int precision) const {
  const BigNumber number = big();
  const Integer magnitude = mp::abs(number.mantissa);
  Decimal decimal;
  std::int64_t decimals = precision;
  const bool is_fixed = verb == 'f';
  const bool is_general = verb == 'g' || verb == 'G';
  if (precision < 0 && magnitude != 0) {
    decimal = detail::shortest(magnitude, number.exponent, precision_);
  } else if (magnitude != 0) {
    decimal = Decimal::of(magnitude, number.exponent);
    if (is_general && decimals == 0) decimals = 1;
    decimal.round(is_fixed ? decimal.point + decimals : is_general ? decimals : decimals + 1);
  }
  const auto size = static_cast<std::int64_t>(decimal.digits.size());
  const std::string sign = is_negative() ? "-" : "";
  if (is_general) return sign + general(decimal, verb, precision < 0 ? -1 : std::max<std::int64_t>(decimals, 1));
  if (is_fixed)
    return sign + fixed(decimal, precision < 0 ? std::max<std::int64_t>(size - decimal.point, 0) : decimals);
  return sign + scientific(decimal, verb, precision < 0 ? std::max<std::int64_t>(size - 1, 0) : decimals);
}

}  // namespace underway::hcl
