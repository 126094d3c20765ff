#pragma once
/// @file
/// Cron expressions, as Nomad's `periodic` has them (the syntax of hashicorp/cronexpr): five fields (minute, hour, day
/// of month, month, day of week), six with a year behind, seven with seconds in front; `*`, `?`, lists, ranges, steps,
/// names, `L`, `W`, `#`; and @hourly, @daily, @weekly, @monthly, @yearly, @annually.
///
/// An expression means every moment at which the clocks of its zone show what it says. So what lies in the hour that
/// is skipped in spring does not come on that day, and what lies in the hour that is repeated in autumn comes twice.

#include "base/clock.hpp"
#include "zone/time_zone.hpp"

#include <array>
#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace underway::model {

class Cron {
 public:
  /// Errors: invalid, with the field that is wrong.
  static Cron parse(std::string_view text);

  /// The first moment after `after` (whole seconds), or nothing: it never comes, or not before the year 2100.
  std::optional<TimePoint> next(const zone::TimeZone& zone, TimePoint after) const;

 private:
  std::optional<std::int64_t> first_from(std::int64_t local) const;
  std::optional<std::int64_t> time_of_day_from(std::int64_t second) const;
  std::uint32_t days_of(int year, unsigned month) const;
  void parse_day_of_month(std::string_view field);
  void parse_day_of_week(std::string_view field);

  static constexpr int kFirstYear = 1970, kLastYear = 2099;

  std::uint64_t seconds_ = 0, minutes_ = 0;
  std::uint32_t hours_ = 0;
  std::uint32_t months_ = 0;  ///< bit 1 is January
  std::bitset<kLastYear - kFirstYear + 1> years_;
  // Days: of the month (bit 1 is the first), or of the week (bit 0 is Sunday). When both are restricted, either will
  // do.
  bool any_day_of_month_ = false, any_day_of_week_ = false;
  std::uint32_t days_ = 0;
  std::uint32_t workdays_nearest_ = 0;  ///< nW
  bool last_day_ = false, last_workday_ = false;
  std::uint8_t weekdays_ = 0;
  std::uint8_t last_weekdays_ = 0;                 ///< nL
  std::array<std::uint8_t, 6> nth_weekdays_ = {};  ///< n#k, by k
};

/// The first moment after `after` that any of the expressions names. Errors: as Cron::parse and zone::get_time_zone.
std::optional<TimePoint> next_time(const std::vector<std::string>& expressions, const std::string& zone,
                                   TimePoint after);
/// The last moment in (after, until] that any of the expressions names.
std::optional<TimePoint> last_time(const std::vector<std::string>& expressions, const std::string& zone,
                                   TimePoint after, TimePoint until);

}  // namespace underway::model
