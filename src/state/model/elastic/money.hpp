#pragma once
/// @file
/// Money as whole micro-units (millionths of the site's currency): sums are exact, and the order of adding does not
/// matter.

#include "base/clock.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underway::model {

/// Millionths of the site's currency.
using Money = std::int64_t;
inline constexpr Money kUnit = 1'000'000;

/// "0.35", "12", "1200.000001": at most six decimals, no sign. Nothing: it is no such amount, or does not fit.
std::optional<Money> parse_money(std::string_view text);
/// Two decimals, or as many as it takes: "0.35", "12.00", "0.000001".
std::string format_money(Money amount);
/// What something that costs `hourly` costs in so much time, rounded down. Negative spans cost nothing.
Money cost_of(Money hourly, Duration span);

}  // namespace underway::model
