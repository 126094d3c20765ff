#pragma once
/// @file
/// Time zones by their names in the system's database ("Europe/Zurich"): libstdc++ 12 has no std::chrono::time_zone.
/// A zone is read from its TZif file, whose rule for the years to come is followed as well.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::model {

/// When clocks change by a rule of the kind "the last Sunday of March, at 2:00".
struct ZoneRule {
  struct Day {
    enum class Kind { julian, zero_based, weekday_of_month } kind = Kind::julian;
    int month = 1, week = 1, day = 0;  ///< `day` alone for the first two kinds; else of the week, 0 is Sunday
    std::int64_t seconds = 7200;       ///< after midnight by the clocks as they are until then; may be negative
  };
  struct Summer {
    std::int64_t offset = 3600;
    Day begin, end;
  };
  std::int64_t offset = 0;  ///< seconds east of Greenwich
  std::optional<Summer> summer;
};

/// POSIX's TZ, with the extensions of RFC 8536 §3.3.1: "CET-1CEST,M3.5.0,M10.5.0/3". Absent when it is none.
std::optional<ZoneRule> parse_zone_rule(std::string_view text);

class TimeZone {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// A stretch of time with one offset: it begins at or before what was asked for, and ends before `until`.
  struct Span {
    std::int64_t offset = 0;
    std::int64_t until = kNever;
  };

  TimeZone() = default;  ///< UTC
  /// Source: RFC 8536. Errors: invalid when `bytes` is no such file, or is larger than one ever is.
  static TimeZone parse(std::string_view bytes);

  /// At `time`, in seconds since the epoch.
  Span at(std::int64_t time) const;

 private:
  struct Change {
    std::int64_t at, offset;
  };
  std::int64_t before_ = 0;      ///< the offset until the first change
  std::vector<Change> changes_;  ///< in order
  std::optional<ZoneRule> rule_;
};

/// "" and "UTC" are UTC, "Local" is that of the machine; others are files of the system's database, and read once.
/// Errors: invalid when there is none of that name, or it cannot be read. Thread: any.
std::shared_ptr<const TimeZone> get_time_zone(const std::string& name);

}  // namespace underway::model
