#pragma once
/// @file
/// Filter expressions as Nomad's clients write them (the language of go-bexpr): read once, then asked about one struct
/// after the other. Selectors are the names of the wire, found through base/describe.hpp; no JSON is made.
///
/// What differs from go-bexpr, always to the milder side: a key that a map does not have, and what an absent optional
/// would hold, is "not there" wherever it stands in the selector (go-bexpr fails when it is not the last part).
/// Equality with what is not there is false, `is empty` is true. Times are their text (RFC 3339), and durations, whole
/// numbers of nanoseconds, may be written "5s".
/// Source: grammar and behaviour of hashicorp/go-bexpr 0.1.14; its documentation.

#include <memory>
#include <span>

#include "base/json/describe.hpp"

namespace underway::filter {

/// What stands beside the fields of the asked struct under a name of its own. A null value is not there.
struct Extra {
  std::string_view name;
  const describe::Type* type = nullptr;
  const void* value = nullptr;
};

/// What an expression is asked about. The pointers are the caller's.
struct Datum {
  const describe::Type* type = nullptr;
  const void* value = nullptr;
  Extra extra = {};
};

/// `value`, which must be of a described type.
template <class T>
Datum datum_of(const T& value, Extra extra = {}) {
  return {&describe::kType<T>, &value, extra};
}
template <class T>
Extra extra_of(std::string_view name, const T* value) {
  return {name, &describe::kType<T>, value};
}

/// Limits on what one expression may be.
inline constexpr std::size_t kLongest = 16 << 10;  ///< bytes
inline constexpr std::size_t kDeepest = 64;        ///< parentheses, `not` and `any`/`all` within each other
inline constexpr std::size_t kMostMatches = 1000;  ///< comparisons
inline constexpr std::size_t kMostPatterns = 16;   ///< regular expressions
/// What asking it may cost, in steps: one for each part of the expression that is looked at, and for each 32 bytes of
/// text.
inline constexpr std::size_t kStepsOfOne = 100'000;
inline constexpr std::size_t kStepsInAll = 50'000'000;

/// Thread: one at a time. Linear in the length of what is matched: patterns are RE2's.
class Expression {
 public:
  /// Throws Error(invalid) telling where it stops making sense: "1:9 (8): no match found, expected …".
  explicit Expression(std::string_view text);
  ~Expression();
  Expression(Expression&&) noexcept;
  Expression& operator=(Expression&&) noexcept;

  /// Throws Error(invalid) when a selector names a field that the type does not have, when an operator does not go with
  /// what the selector finds or with the value, and when the asking takes more steps than it may.
  bool matches(const Datum& datum) const;
  template <class T>
  bool matches(const T& value) const {
    return matches(datum_of(value));
  }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace underway::filter
