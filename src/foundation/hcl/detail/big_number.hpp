#pragma once
/// @file
/// The inside of a number: mantissa times a power of two.

#include <boost/multiprecision/cpp_int.hpp>

#include <cstdint>
#include <string>

namespace underway::hcl::detail {

using Integer = boost::multiprecision::cpp_int;

struct BigNumber {
  Integer mantissa{};  ///< odd, or 0
  std::int64_t exponent = 0;
};

inline std::int64_t bit_length(const Integer& integer) {
  return integer == 0
             ? 0
             : static_cast<std::int64_t>(boost::multiprecision::msb(integer < 0 ? Integer(-integer) : integer)) + 1;
}

/// Digits and where the point stands: 0.digits times ten to `point`. No zeros at the end; empty for zero.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;

  /// Exactly `mantissa` (not negative) times two to `exponent`.
  static Decimal of(const Integer& mantissa, std::int64_t exponent);
  char at(std::size_t i) const { return i < digits.size() ? digits[i] : '0'; }
  /// To `count` digits, half to even; nothing when there are no more.
  void round(std::int64_t count);
  void round_up(std::size_t count);
  void round_down(std::size_t count);

 private:
  void trim();
};

/// The shortest that reads back as mantissa * 2^exponent at `precision` bits.
Decimal shortest(const Integer& mantissa, std::int64_t exponent, unsigned precision);

}  // namespace underway::hcl::detail
