#include "base/clock.hpp"
#include "base/text.hpp"

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

std::string format_time_exactly(TimePoint time) {
  std::string text = format_time(std::chrono::floor<std::chrono::seconds>(time));
  const auto rest = (time - std::chrono::floor<std::chrono::seconds>(time)).count();
  if (rest == 0) return text;
  std::string decimals = fmt::format(".{:09}", rest);
  decimals.erase(decimals.find_last_not_of('0') + 1);
  return text.insert(text.size() - 1, decimals);
}

namespace {

/// Takes exactly `digits` decimal digits off the front.
std::optional<int> take_number(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

/// ".5" as nanoseconds; further decimals than nine are dropped.
std::optional<Duration> take_decimals(std::string_view& text) {
  if (!take(text, ".")) return Duration{0};
  std::int64_t value = 0, unit = 100'000'000;
  std::size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits, unit /= 10)
    value += (text[digits] - '0') * unit;
  text.remove_prefix(digits);
  return digits > 0 ? std::optional(Duration{value}) : std::nullopt;
}

std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take(text, "Zz")) return std::chrono::minutes{0};
  if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
  const int sign = text.front() == '-' ? -1 : 1;
  text.remove_prefix(1);
  const auto hours = take_number(text, 2);
  const bool colon = take(text, ":");
  const auto minutes = take_number(text, 2);
  if (!hours || !colon || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return std::chrono::minutes{sign * (*hours * 60 + *minutes)};
}

}  // namespace

std::optional<TimePoint> parse_time(std::string_view text) {
  using namespace std::chrono;
  int part[6];
  constexpr std::string_view kAfter[6] = {"-", "-", "Tt ", ":", ":", ""};
  for (int i = 0; i < 6; ++i) {
    const auto number = take_number(text, i == 0 ? 4 : 2);
    if (!number || (!kAfter[i].empty() && !take(text, kAfter[i]))) return std::nullopt;
    part[i] = *number;
  }
  const auto decimals = take_decimals(text);
  const auto offset = take_offset(text);
  const year_month_day date{year{part[0]}, month{static_cast<unsigned>(part[1])}, day{static_cast<unsigned>(part[2])}};
  const bool in_day = part[3] <= 23 && part[4] <= 59 && part[5] <= 60;
  if (!decimals || !offset || !text.empty() || !date.ok() || !in_day) return std::nullopt;
  if (date.year() < year{1678} || date.year() > year{2261}) return std::nullopt;
  const auto whole = sys_days{date} + hours{part[3]} + minutes{part[4]} + seconds{part[5]} - *offset;
  return TimePoint{duration_cast<Duration>(whole.time_since_epoch())} + *decimals;
}

}  // namespace underway
