#pragma once
/// @file
/// Numbers as cty has them: binary floating point of 512 bits, whose integers are exact as long as they have no more.
/// What is counted (a length) has 64 bits, what comes of a double 53; a result has the precision of its more exact
/// operand. 0.1 + 0.2 prints "0.3", and 1/3*3 prints "1".

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
  /// Powers of two that a number may reach; beyond it operations throw Error(too_large).
  static constexpr unsigned kMaxBits = 8192;
  /// Bits of a number that was written down.
  static constexpr unsigned kPrecision = 512;

  Number() = default;
  Number(std::int64_t value) : small_(value) {}  // NOLINT(google-explicit-constructor): every integer is a Number
  /// The shortest decimal number that reads back as `value`; throws Error(invalid) unless finite.
  static Number from_double(double value);
  /// `value` itself, of 53 bits; throws Error(invalid) unless finite.
  static Number binary(double value);
  /// "12", "-0.5", ".5", "1e6", "1p3"; nothing when it is no decimal number or out of bounds.
  static std::optional<Number> parse(std::string_view text);
  /// Digits of `base` (2 to 62, as Go's big.Int: 0-9a-zA-Z), with an optional sign.
  static std::optional<Number> parse_integer(std::string_view text, int base);

  bool is_integer() const;
  bool is_zero() const { return sign() == 0; }
  int sign() const;
  /// -0 is a number of its own, equal to 0.
  bool is_negative() const { return minus_zero_ || sign() < 0; }
  unsigned precision() const { return precision_; }
  /// Of the number written in binary; at most 64 for what fits into 64 bits.
  std::uint64_t bits() const;
  /// When it is an integer and fits.
  std::optional<std::int64_t> to_int64() const;
  double to_double() const;
  /// The shortest decimal number that reads back as this one at its precision, without exponent.
  std::string to_string() const;
  /// As C's printf: 'e', 'E', 'f', 'g' or 'G'; a negative precision means as many digits as are needed. With its sign.
  std::string format(char verb, int precision) const;
  /// Digits of an integer's magnitude (its fraction is cut off), in base 2, 8, 10 or 16.
  std::string digits(int base) const;

  Number operator-() const;
  friend Number operator+(const Number& a, const Number& b);
  friend Number operator-(const Number& a, const Number& b);
  friend Number operator*(const Number& a, const Number& b);
  /// Throws Error(invalid) on division by zero.
  friend Number operator/(const Number& a, const Number& b);
  /// Remainder of the division truncated toward zero: its sign is a's. `a` itself when `b` is zero.
  friend Number remainder(const Number& a, const Number& b);
  friend Number floor(const Number& a);
  friend Number ceil(const Number& a);
  /// Whether both are written the same, which is when HCL calls numbers equal.
  friend bool operator==(const Number& a, const Number& b);
  /// By value, exactly.
  friend std::strong_ordering operator<=>(const Number& a, const Number& b);

 private:
  /// Rounds to `precision` bits, half to even.
  static Number rounded(detail::BigNumber&& big, unsigned precision, bool minus_zero = false);
  detail::BigNumber big() const;

  std::int64_t small_ = 0;
  std::shared_ptr<const detail::BigNumber> big_{};  ///< set only when small_ cannot hold it
  std::uint16_t precision_ = 64;
  bool minus_zero_ = false;
};

}  // namespace underway::hcl
