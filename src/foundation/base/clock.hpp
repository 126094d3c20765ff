#pragma once
/// @file
/// Time. Wall-clock instants are TimePoint (nanoseconds since the Unix epoch, the wire's form); spans are Duration.
/// Decisions never read a clock: they take `now`. Only a program at its start builds a SystemClock, and hands it
/// on; tests and the simulator use VirtualClock. Moments of files are the kernel's (os::file_clock_now).

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace underway {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::system_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual TimePoint now() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::system_clock::now(); }
};

/// Moves only when told to.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(TimePoint start = TimePoint{std::chrono::seconds{1'700'000'000}}) : now_(start) {}
  TimePoint now() const override { return now_; }
  void advance(Duration by) { now_ += by; }

 private:
  TimePoint now_;
};

/// Nanoseconds since the Unix epoch.
inline std::int64_t unix_nanos(TimePoint t) { return t.time_since_epoch().count(); }
/// Whole ones, rounded down.
inline std::int64_t unix_seconds(TimePoint t) {
  return std::chrono::floor<std::chrono::seconds>(t.time_since_epoch()).count();
}
inline TimePoint from_unix_nanos(std::int64_t ns) { return TimePoint{Duration{ns}}; }

/// Parses Go's duration syntax ("1h15m30.5s", "300ms", "-1.5h", "0"): time.ParseDuration, go.dev/pkg/time.
/// Returns nothing when the text is no duration or does not fit 64 bits of nanoseconds.
std::optional<Duration> parse_duration(std::string_view text);
/// Go's Duration.String(): "1m30s", "1.5s", "300ms", "0s".
std::string format_duration(Duration duration);
/// For people: the largest two units, "2h3m", "45s", "120ms".
std::string human_duration(Duration duration);
/// RFC 3339 in UTC with seconds: "2026-11-21T11:40:00Z".
std::string format_time(TimePoint time);
/// The same with as many decimals as it takes, as Go's time.RFC3339Nano: "2026-11-21T11:40:00.5Z".
std::string format_time_exactly(TimePoint time);
/// Parses RFC 3339 (date, time, optional decimals, "Z" or an offset). Returns nothing when the text is no such time or
/// lies outside of what TimePoint holds (1678 to 2261).
std::optional<TimePoint> parse_time(std::string_view text);

}  // namespace underway
