#pragma once
/// @file
/// Sprig's arithmetic of floats: github.com/shopspring/decimal between two conversions, so that 0.1 + 0.2 is 0.3.

#include "gotemplate/run.hpp"

#include <boost/multiprecision/cpp_int.hpp>

namespace underway::gotemplate {

/// coefficient × 10^exponent, exactly. Each operation charges the rendering for its digits.
class Decimal {
 public:
  /// The shortest decimal that is this float. Throws Error(invalid) for NaN and infinities.
  explicit Decimal(double value);

  Decimal add(const Decimal& other, Run& run) const;
  Decimal subtract(const Decimal& other, Run& run) const;
  Decimal multiply(const Decimal& other, Run& run) const;
  /// Rounded to 16 places, half away from zero. Throws Error(invalid) for 0.
  Decimal divide(const Decimal& other, Run& run) const;
  /// The nearest float.
  double real() const;

 private:
  using Integer = boost::multiprecision::cpp_int;
  Decimal(Integer coefficient, std::int64_t exponent) : coefficient_(std::move(coefficient)), exponent_(exponent) {}
  /// The coefficient at a smaller exponent.
  Integer at(std::int64_t exponent) const;
  void charge(const Decimal& other, Run& run) const;

  Integer coefficient_;
  std::int64_t exponent_ = 0;
};

}  // namespace underway::gotemplate
