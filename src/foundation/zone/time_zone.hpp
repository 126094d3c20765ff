#pragma once
/// @file
/// Time zones by their names in the system's database ("Europe/Zurich"), read by cctz: libstdc++ 12 has no
/// std::chrono::time_zone. Nothing else in the tree reads that database.

#include <cctz/time_zone.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace underway::zone {

class TimeZone {
 public:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// What clocks show at one moment, and for how long they go on so.
  struct Span {
    std::int64_t offset = 0;      ///< seconds east of Greenwich
    std::string abbreviation;     ///< "CEST"; "+1030" where the zone has no letters
    std::int64_t until = kNever;  ///< when clocks are set anew or called otherwise, in seconds since the epoch
  };

  TimeZone() = default;  ///< UTC
  /// The file at `path`, in the form of RFC 8536, with the rule at its end for all years behind. Absent when there is
  /// none, when it is broken, or when it counts leap seconds. Thread: any.
  static std::optional<TimeZone> find(const std::string& path);

  /// At `time`, in seconds since the epoch.
  Span at(std::int64_t time) const;

 private:
  explicit TimeZone(cctz::time_zone zone) : zone_(zone) {}
  cctz::time_zone zone_;
};

/// "" and "UTC" are UTC, "Local" is that of the machine; others are files of the system's database, and read once.
/// Thread: any.
std::optional<TimeZone> find_time_zone(const std::string& name);
/// The same. Errors: invalid when there is none of that name, or it cannot be read.
TimeZone get_time_zone(const std::string& name);

}  // namespace underway::zone
