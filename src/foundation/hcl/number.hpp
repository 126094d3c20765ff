#pragma once
/// @file
/// Exact numbers: integers and fractions of any size up to Number::kMaxBits. 0.1 + 0.2 is 0.3, and 10/3*3 is 10.

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace underway::hcl {

namespace detail {
struct BigNumber;
}

class Number {
 public:
  /// Largest size of numerator and denominator; beyond it operations throw Error(too_large).
  static constexpr unsigned kMaxBits = 8192;

  Number() = default;
  Number(std::int64_t value) : small_(value) {}  // NOLINT(google-explicit-constructor): every integer is a Number
  /// The shortest decimal number that reads back as `value`; throws Error(invalid) unless finite.
  static Number from_double(double value);
  /// "12", "-0.5", "1e6", "6.02E+23"; nothing when it is no decimal number or out of bounds.
  static std::optional<Number> parse(std::string_view text);
  /// Digits of `base` (2 to 62, as Go's big.Int: 0-9a-zA-Z), with an optional sign.
  static std::optional<Number> parse_integer(std::string_view text, int base);

  bool is_integer() const;
  bool is_zero() const { return sign() == 0; }
  int sign() const;
  /// Of numerator and denominator together; at most 64 for what fits into 64 bits.
  std::uint64_t bits() const;
  /// When it is an integer and fits.
  std::optional<std::int64_t> to_int64() const;
  double to_double() const;
  /// Plain decimal notation without exponent; a fraction of more than 154 significant digits is rounded to them, which
  /// is what a 512-bit float, the number of other HCL implementations, can carry.
  std::string to_string() const;

  Number operator-() const;
  friend Number operator+(const Number& a, const Number& b);
  friend Number operator-(const Number& a, const Number& b);
  friend Number operator*(const Number& a, const Number& b);
  /// Throws Error(invalid) on division by zero.
  friend Number operator/(const Number& a, const Number& b);
  /// Remainder of the division truncated toward zero: its sign is a's. Throws Error(invalid) on zero.
  friend Number remainder(const Number& a, const Number& b);
  friend Number floor(const Number& a);
  friend bool operator==(const Number& a, const Number& b) { return (a <=> b) == 0; }
  friend std::strong_ordering operator<=>(const Number& a, const Number& b);

 private:
  static Number from_big(detail::BigNumber&& big);
  detail::BigNumber big() const;

  std::int64_t small_ = 0;
  std::shared_ptr<const detail::BigNumber> big_;  ///< set only when small_ cannot hold it
};

}  // namespace underway::hcl
