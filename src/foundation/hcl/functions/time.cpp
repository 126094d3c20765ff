#include "base/clock.hpp"
#include "hcl/detail/arguments.hpp"

#include <fmt/format.h>

#include <chrono>

namespace underway::hcl::detail {

namespace {

using Seconds = std::chrono::sys_seconds;

/// RFC 3339; the fraction of a second is kept apart because HCL prints whole seconds.
struct Timestamp {
  Seconds utc;
  std::chrono::nanoseconds fraction{};
  int offset_minutes = 0;
};

[[noreturn]] void refuse(std::size_t argument, const std::string& text) {
  throw ArgumentError(argument,
                      fmt::format("{} is no time such as 2026-11-21T12:30:00Z (RFC 3339)", describe(Value(text), 60)));
}

Timestamp parse(const std::string& text, std::size_t argument) {
  std::size_t at = 0;
  const auto digits = [&](std::size_t count) {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i, ++at) {
      if (at >= text.size() || text[at] < '0' || text[at] > '9') refuse(argument, text);
      value = value * 10 + (text[at] - '0');
    }
    return value;
  };
  const auto expect = [&](std::string_view any) {
    if (at >= text.size() || any.find(text[at]) == std::string_view::npos) refuse(argument, text);
    return text[at++];
  };
  const int year = digits(4);
  expect("-");
  const int month = digits(2);
  expect("-");
  const int day = digits(2);
  expect("T");
  const bool short_hour = at + 1 < text.size() && text[at + 1] == ':';  // Go takes an hour of one digit
  const int hour = digits(short_hour ? 1 : 2);
  expect(":");
  const int minute = digits(2);
  expect(":");
  const int second = digits(2);
  Timestamp time;
  if (at < text.size() && (text[at] == '.' || text[at] == ',')) {
    ++at;
    std::int64_t scale = 100'000'000;
    const std::size_t begin = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      time.fraction += std::chrono::nanoseconds((text[at++] - '0') * scale);
      scale /= 10;
    }
    if (at == begin) refuse(argument, text);
  }
  const char zone = expect("Z+-");
  if (zone != 'Z') {
    const int hours = digits(2);
    expect(":");
    const int minutes = digits(2);
    if (hours > 24 || minutes > 60) refuse(argument, text);
    time.offset_minutes = (zone == '-' ? -1 : 1) * (hours * 60 + minutes);
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (at != text.size() || !date.ok() || hour > 23 || minute > 59 || second > 59) refuse(argument, text);
  time.utc = std::chrono::sys_days(date) + std::chrono::hours(hour) +
             std::chrono::minutes(minute - time.offset_minutes) + std::chrono::seconds(second);
  return time;
}

struct Fields {
  int year, month, day, hour, minute, second, weekday;
};

Fields local_fields(const Timestamp& time) {
  const auto local = time.utc + std::chrono::minutes(time.offset_minutes);
  const auto midnight = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(local - midnight);
  return {static_cast<int>(date.year()),
          static_cast<int>(static_cast<unsigned>(date.month())),
          static_cast<int>(static_cast<unsigned>(date.day())),
          static_cast<int>(clock.hours().count()),
          static_cast<int>(clock.minutes().count()),
          static_cast<int>(clock.seconds().count()),
          static_cast<int>(std::chrono::weekday(midnight).c_encoding())};
}

constexpr const char* kMonths[] = {"January", "February", "March",     "April",   "May",      "June",
                                   "July",    "August",   "September", "October", "November", "December"};
constexpr const char* kDays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};

std::string zone(const Timestamp& time, std::string_view form) {
  const int offset = time.offset_minutes;
  const char sign = offset < 0 ? '-' : '+';
  std::string compact = fmt::format("{}{:02}{:02}", sign, std::abs(offset) / 60, std::abs(offset) % 60);
  std::string colon = fmt::format("{}{:02}:{:02}", sign, std::abs(offset) / 60, std::abs(offset) % 60);
  if (form == "Z") return offset == 0 ? "Z" : colon;
  if (form == "ZZZ") return offset == 0 ? "UTC" : compact;
  if (form == "ZZZZ") return compact;
  return colon;
}

/// One run of equal letters of a format, as formatdate documents them.
std::optional<std::string> field(std::string_view form, const Timestamp& time, const Fields& f) {
  const int hour12 = f.hour % 12 == 0 ? 12 : f.hour % 12;
  const std::string_view month = kMonths[f.month - 1];
  const std::string_view day = kDays[f.weekday];
  if (form == "YYYY") return fmt::format("{:04}", f.year);
  if (form == "YY") return fmt::format("{:02}", f.year % 100);
  if (form == "MMMM") return std::string(month);
  if (form == "MMM") return std::string(month.substr(0, 3));
  if (form == "MM") return fmt::format("{:02}", f.month);
  if (form == "M") return fmt::format("{}", f.month);
  if (form == "DD") return fmt::format("{:02}", f.day);
  if (form == "D") return fmt::format("{}", f.day);
  if (form == "EEEE") return std::string(day);
  if (form == "EEE") return std::string(day.substr(0, 3));
  if (form == "hh") return fmt::format("{:02}", f.hour);
  if (form == "h") return fmt::format("{}", f.hour);
  if (form == "HH") return fmt::format("{:02}", hour12);
  if (form == "H") return fmt::format("{}", hour12);
  if (form == "AA") return f.hour < 12 ? "AM" : "PM";
  if (form == "aa") return f.hour < 12 ? "am" : "pm";
  if (form == "mm") return fmt::format("{:02}", f.minute);
  if (form == "m") return fmt::format("{}", f.minute);
  if (form == "ss") return fmt::format("{:02}", f.second);
  if (form == "s") return fmt::format("{}", f.second);
  if (form == "Z" || form == "ZZZ" || form == "ZZZZ" || form == "ZZZZZ") return zone(time, form);
  return std::nullopt;
}

Value format_date(const Arguments& arguments) {
  const std::string format = arguments.text(0);
  const Timestamp time = parse(arguments.text(1), 1);
  const Fields fields = local_fields(time);
  std::string out;
  for (std::size_t at = 0; at < format.size();) {
    const char c = format[at];
    if (format.compare(at, 2, "''") == 0) {
      out += '\'';
      at += 2;
    } else if (c == '\'') {  // quoted text; '' within it is a quote
      std::size_t end = at + 1;
      for (;; ++end) {
        if (end >= format.size()) throw ArgumentError(0, "a quote in the format is never closed");
        if (format[end] != '\'') {
          out += format[end];
        } else if (end + 1 < format.size() && format[end + 1] == '\'') {
          out += format[end++];
        } else {
          break;
        }
      }
      at = end + 1;
    } else if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      const std::size_t end = std::min(format.find_first_not_of(c, at), format.size());
      const std::string_view form = std::string_view(format).substr(at, end - at);
      const auto text = field(form, time, fields);
      if (!text)
        throw ArgumentError(
            0, fmt::format("'{}' in the format has no meaning: put text in single quotes", form.substr(0, 40)));
      out += *text;
      at = end;
    } else {
      out += c;
      ++at;
    }
  }
  return out;
}

Value add_duration(const Arguments& arguments) {
  Timestamp time = parse(arguments.text(0), 0);
  const std::string text = arguments.text(1);
  const auto duration = parse_duration(text);
  if (!duration) throw ArgumentError(1, fmt::format("{} is no duration such as 1h30m", describe(Value(text), 60)));
  const auto whole = std::chrono::floor<std::chrono::seconds>(*duration);
  time.utc += whole + std::chrono::floor<std::chrono::seconds>(time.fraction + (*duration - whole));
  const Fields f = local_fields(time);
  if (f.year < 0 || f.year > 9999) throw Error(Code::invalid, "the year does not fit in four digits");
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}", f.year, f.month, f.day, f.hour, f.minute, f.second,
                     zone(time, "Z"));
}

}  // namespace

void add_time_functions(Entries& entries) {
  entries["formatdate"] = {"format, time", 2, 2, [](const Call& call) { return format_date(Arguments(call)); }};
  entries["timeadd"] = {"time, duration", 2, 2, [](const Call& call) { return add_duration(Arguments(call)); }};
}

}  // namespace underway::hcl::detail
