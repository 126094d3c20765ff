#pragma once
/// @file
/// Go's package time: layouts, zones and the value that `now` returns. The local zone is UTC: what a template writes
/// must not depend on the node's own zone.

#include "base/clock.hpp"
#include "gotemplate/value.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace underway::gotemplate {

/// A time of any year, and the zone that it is told in.
struct Instant {
  static constexpr std::int64_t kYearOne = -62'135'596'800;
  std::int64_t seconds = kYearOne;  ///< since 1970; Go's zero time is the year 1
  int nanos = 0;
  int offset = 0;            ///< seconds east of UTC
  std::string zone = "UTC";  ///< as it is printed; empty: the offset is
  bool local = false;        ///< Go's Local, which is UTC here; it is another zone where times are compared
  bool operator==(const Instant&) const = default;
};

Instant instant_of(TimePoint time);

/// Time.Format: "2006-01-02 15:04:05".
std::string format_layout(const Instant& time, std::string_view layout);
/// time.Parse. Nothing when the text does not fit.
std::optional<Instant> parse_layout(std::string_view text, std::string_view layout);
/// The same time in a zone of the machine's database; nothing when there is no such zone.
std::optional<Instant> in_zone(Instant time, const std::string& zone);

/// Days since 1970 of a date of the Gregorian calendar, and back.
std::int64_t days_of(std::int64_t year, int month, int day);
struct Date {
  std::int64_t year;
  int month;
  int day;
};
Date date_of(std::int64_t days);

/// A piece of a layout, and its size in it; a literal is one byte.
enum class Piece : std::uint8_t {
  literal,
  month_name,
  month_short,
  month,
  month_2,
  weekday_name,
  weekday_short,
  day,
  day_blank,
  day_2,
  day_of_year,        ///< 002
  day_of_year_blank,  ///< __2
  hour_2,
  hour_12,
  hour_12_2,
  minute,
  minute_2,
  second,
  second_2,
  year,
  year_2,
  half_upper,
  half_lower,
  zone_name,
  offset,          ///< -0700 and its like; Z0700 and its like write Z for UTC
  fraction_fixed,  ///< .000
  fraction,        ///< .999
};
struct LayoutPiece {
  Piece piece;
  std::string_view spelled;
  bool is_zone_z() const { return spelled.starts_with('Z'); }
  bool has_colon() const { return spelled.find(':') != std::string_view::npos; }
  /// Digits of an offset: 2, 4 or 6.
  std::size_t offset_digits() const { return spelled.size() - 1 - (has_colon() ? (spelled.size() - 1) / 3 : 0); }
};
LayoutPiece next_piece(std::string_view layout);

extern const std::array<std::string_view, 12> kMonths;
extern const std::array<std::string_view, 7> kWeekdays;

Value time_value(Instant time);
Value time_value(TimePoint time);
/// The time that a value is, one that a function returned.
const Instant* time_of(const Value& value);

}  // namespace underway::gotemplate
