#include "base/clock.hpp"

#include <ctime>

namespace underway {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t nanos;
};
// Longest names first, so that "ms" is not read as "m".
constexpr Unit kUnits[] = {{"ns", 1},         {"us", 1'000},        {"µs", 1'000},         {"μs", 1'000},
                           {"ms", 1'000'000}, {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads "12.5" off the front of `text`; false when there is no digit.
bool read_number(std::string_view& text, __int128& whole, __int128& fraction, __int128& scale) {
  whole = fraction = 0;
  scale = 1;
  bool any = false;
  while (!text.empty() && is_digit(text[0])) {
    whole = whole * 10 + (text[0] - '0');
    if (whole > (__int128{1} << 63)) return false;
    text.remove_prefix(1);
    any = true;
  }
  if (text.empty() || text[0] != '.') return any;
  text.remove_prefix(1);
  while (!text.empty() && is_digit(text[0])) {
    if (scale < 1'000'000'000'000'000) {  // further digits are below a nanosecond of an hour
      fraction = fraction * 10 + (text[0] - '0');
      scale *= 10;
    }
    text.remove_prefix(1);
    any = true;
  }
  return any;
}

const Unit* read_unit(std::string_view& text) {
  for (const auto& unit : kUnits) {
    if (!text.starts_with(unit.name)) continue;
    text.remove_prefix(unit.name.size());
    return &unit;
  }
  return nullptr;
}

/// "1.5" for 1'500'000 at scale 1'000'000: trailing zeros dropped, as Go prints.
std::string trimmed(std::int64_t value, std::int64_t scale) {
  std::string text = std::to_string(value / scale);
  std::int64_t rest = value % scale;
  if (rest == 0) return text;
  text += '.';
  for (scale /= 10; rest != 0; scale /= 10) {
    text += static_cast<char>('0' + rest / scale);
    rest %= scale;
  }
  return text;
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
    negative = text[0] == '-';
    text.remove_prefix(1);
  }
  if (text == "0") return Duration{0};
  if (text.empty()) return std::nullopt;
  __int128 total = 0;
  while (!text.empty()) {
    __int128 whole = 0, fraction = 0, scale = 1;
    if (!read_number(text, whole, fraction, scale)) return std::nullopt;
    const Unit* unit = read_unit(text);
    if (unit == nullptr) return std::nullopt;
    total += whole * unit->nanos + fraction * unit->nanos / scale;
    if (total > (__int128{1} << 63) - 1) return std::nullopt;
  }
  return Duration{static_cast<std::int64_t>(negative ? -total : total)};
}

std::string format_duration(Duration duration) {
  std::int64_t ns = duration.count();
  if (ns == 0) return "0s";
  std::string out;
  if (ns < 0) {
    out = "-";
    ns = -ns;
  }
  if (ns < 1'000) return out + std::to_string(ns) + "ns";
  if (ns < 1'000'000) return out + trimmed(ns, 1'000) + "µs";
  if (ns < 1'000'000'000) return out + trimmed(ns, 1'000'000) + "ms";
  const std::int64_t hours = ns / 3'600'000'000'000;
  const std::int64_t minutes = ns / 60'000'000'000 % 60;
  if (hours > 0) out += std::to_string(hours) + "h";
  if (hours > 0 || minutes > 0) out += std::to_string(minutes) + "m";
  return out + trimmed(ns % 60'000'000'000, 1'000'000'000) + "s";
}

std::string human_duration(Duration duration) {
  using namespace std::chrono;
  const auto s = duration_cast<seconds>(duration).count();
  if (s == 0) return std::to_string(duration_cast<milliseconds>(duration).count()) + "ms";
  if (s < 60) return std::to_string(s) + "s";
  if (s < 3600) return fmt::format("{}m{}s", s / 60, s % 60);
  if (s < 86400) return fmt::format("{}h{}m", s / 3600, s / 60 % 60);
  return fmt::format("{}d{}h", s / 86400, s / 3600 % 24);
}

std::string format_time(TimePoint time) {
  const std::time_t seconds =
      std::chrono::system_clock::to_time_t(std::chrono::time_point_cast<std::chrono::system_clock::duration>(time));
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

}  // namespace underway
