#pragma once
/// @file
/// Go's package time: layouts and the value that `now` returns. Zones are UTC and fixed offsets: what a template writes
/// must not depend on the node's own zone.

#include "base/clock.hpp"
#include "gotemplate/value.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace underway::gotemplate::detail {

/// Time.Format in UTC: "2006-01-02 15:04:05".
std::string format_layout(TimePoint time, std::string_view layout);
/// time.Parse, for layouts of numbers, names of months and "MST", "Z07:00" or "-0700". Nothing when it does not fit.
std::optional<TimePoint> parse_layout(std::string_view text, std::string_view layout);

Value time_value(TimePoint time);
/// The time that a value is: one that a function returned, or seconds since the epoch.
std::optional<TimePoint> time_of(const Value& value);

}  // namespace underway::gotemplate::detail
