#include "model/job/cron.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::size_t kMostText = 1024;

struct CronField {
  std::string_view what;
  int least, most;
  std::vector<std::string_view> names = {};  ///< the first is that of `least`; three letters are enough
};

const CronField kSeconds{"second", 0, 59};
const CronField kMinutes{"minute", 0, 59};
const CronField kHours{"hour", 0, 23};
const CronField kDays{"day of month", 1, 31};
const CronField kMonths{"month",
                        1,
                        12,
                        {"january", "february", "march", "april", "may", "june", "july", "august", "september",
                         "october", "november", "december"}};
const CronField kWeekdays{
    "day of week", 0, 7, {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}};
const CronField kYears{"year", 1970, 2099};

[[noreturn]] void refuse(const CronField& field, std::string_view item, std::string_view why) {
  throw Error(Code::invalid, fmt::format("'{}' is no {} of a cron expression", item, field.what))
      .because(std::string(why));
}

int number_between(const CronField& field, std::string_view text, int least, int most, std::string_view item) {
  const auto value = parse_number<int>(text);
  if (!value || text.front() == '-') refuse(field, item, fmt::format("'{}' is not a number", text));
  if (*value < least || *value > most) refuse(field, item, fmt::format("{} is not in {} to {}", *value, least, most));
  return *value;
}

int parse_value(const CronField& field, std::string_view text, std::string_view item) {
  for (std::size_t i = 0; i < field.names.size(); ++i) {
    const auto name = field.names[i];
    if (text == name || text == name.substr(0, 3)) return field.least + static_cast<int>(i);
  }
  return number_between(field, text, field.least, field.most, item);
}

bool is_any(std::string_view field) { return field == "*" || field == "?"; }

/// One item of a list: `*`, `n`, `n-m`, each with `/step`. Calls take(value) for each value that it stands for.
template <class Take>
void parse_item(const CronField& field, std::string_view item, Take take) {
  std::string_view range = item;
  int step = 1;
  const auto slash = item.find('/');
  if (slash != std::string_view::npos) {
    range = item.substr(0, slash);
    step = number_between(field, item.substr(slash + 1), 1, field.most, item);
  }
  int first = field.least, last = field.most;
  const auto hyphen = range.find('-');
  if (hyphen != std::string_view::npos) {
    first = parse_value(field, range.substr(0, hyphen), item);
    last = parse_value(field, range.substr(hyphen + 1), item);
  } else if (!is_any(range)) {
    first = parse_value(field, range, item);
    if (slash == std::string_view::npos) last = first;
  } else if (&field == &kWeekdays) {
    last = 6;  // 7 is Sunday once more
  }
  if (first > last) refuse(field, item, "the range goes backwards");
  for (int value = first; value <= last; value += step) take(value);
}

template <class Take>
void parse_list(const CronField& field, std::string_view text, Take take) {
  for (const auto& item : split(text, ',')) parse_item(field, item, take);
}

std::uint64_t parse_mask(const CronField& field, std::string_view text) {
  std::uint64_t mask = 0;
  parse_list(field, text, [&](int value) { mask |= std::uint64_t{1} << value; });
  return mask;
}

std::string_view predefined(std::string_view text) {
  if (text == "@yearly" || text == "@annually") return "0 0 0 1 1 * *";
  if (text == "@monthly") return "0 0 0 1 * * *";
  if (text == "@weekly") return "0 0 0 * * 0 *";
  if (text == "@daily") return "0 0 0 * * * *";
  if (text == "@hourly") return "0 0 * * * * *";
  throw Error(Code::invalid, fmt::format("'{}' is no cron expression", text))
      .because("with an @ there are @hourly, @daily, @weekly, @monthly, @yearly and @annually");
}

template <class Mask>
std::optional<int> first_bit(Mask mask, std::int64_t from) {
  if (from >= std::numeric_limits<Mask>::digits) return std::nullopt;
  mask = static_cast<Mask>(mask & (~Mask{0} << from));
  if (mask == 0) return std::nullopt;
  return std::countr_zero(mask);
}

/// The day of the month, Monday to Friday, that is nearest to `day` and in the same month.
unsigned nearest_workday(std::chrono::year_month month, unsigned day, unsigned last) {
  using namespace std::chrono;
  const weekday on{sys_days{month / std::chrono::day{day}}};
  if (on == Saturday) return day == 1 ? 3 : day - 1;
  if (on == Sunday) return day == last ? day - 2 : day + 1;
  return day;
}

}  // namespace

Cron Cron::parse(std::string_view text) {
  if (text.size() > kMostText)
    throw Error(Code::invalid, fmt::format("a cron expression has {} bytes, above {}", text.size(), kMostText));
  std::string lowered = lower(trim(text));
  if (lowered.starts_with('@')) lowered = predefined(lowered);
  std::replace(lowered.begin(), lowered.end(), '\t', ' ');
  auto fields = split(lowered, ' ');
  std::erase_if(fields, [](const auto& field) { return field.empty(); });
  if (fields.size() < 5 || fields.size() > 7) {
    throw Error(Code::invalid, fmt::format("'{}' is no cron expression", text))
        .because(
            fmt::format("it has {} fields; there are 5, 6 with a year, or 7 with seconds and a year", fields.size()));
  }
  if (fields.size() < 7) fields.insert(fields.begin(), "0");
  if (fields.size() < 7) fields.emplace_back("*");
  Cron cron;
  cron.seconds_ = parse_mask(kSeconds, fields[0]);
  cron.minutes_ = parse_mask(kMinutes, fields[1]);
  cron.hours_ = static_cast<std::uint32_t>(parse_mask(kHours, fields[2]));
  cron.parse_day_of_month(fields[3]);
  cron.months_ = static_cast<std::uint32_t>(parse_mask(kMonths, fields[4]));
  cron.parse_day_of_week(fields[5]);
  parse_list(kYears, fields[6], [&](int year) { cron.years_.set(static_cast<std::size_t>(year - kFirstYear)); });
  return cron;
}

void Cron::parse_day_of_month(std::string_view field) {
  any_day_of_month_ = is_any(field);
  for (const auto& item : split(field, ',')) {
    if (item == "l") {
      last_day_ = true;
    } else if (item == "lw" || item == "wl") {
      last_workday_ = true;
    } else if (item.ends_with('w')) {
      const int day = number_between(kDays, item.substr(0, item.size() - 1), 1, 31, item);
      workdays_nearest_ |= std::uint32_t{1} << day;
    } else {
      parse_item(kDays, item, [&](int day) { days_ |= std::uint32_t{1} << day; });
    }
  }
}

void Cron::parse_day_of_week(std::string_view field) {
  any_day_of_week_ = is_any(field);
  const auto bit = [](int weekday) { return static_cast<std::uint8_t>(1U << (weekday % 7)); };
  for (const auto& item : split(field, ',')) {
    const auto hash = item.find('#');
    if (hash != std::string::npos) {
      const int nth = number_between(kWeekdays, std::string_view(item).substr(hash + 1), 1, 5, item);
      nth_weekdays_[static_cast<std::size_t>(nth)] |=
          bit(parse_value(kWeekdays, std::string_view(item).substr(0, hash), item));
    } else if (item.size() > 1 && item.ends_with('l')) {
      last_weekdays_ |= bit(parse_value(kWeekdays, std::string_view(item).substr(0, item.size() - 1), item));
    } else {
      parse_item(kWeekdays, item, [&](int weekday) { weekdays_ |= bit(weekday); });
    }
  }
}

/// A bit for each day of that month, bit 1 is the first.
std::uint32_t Cron::days_of(int year, unsigned month) const {
  using namespace std::chrono;
  const year_month of{std::chrono::year{year}, std::chrono::month{month}};
  const unsigned last = static_cast<unsigned>((of / std::chrono::last).day());
  const std::uint32_t all = static_cast<std::uint32_t>(((std::uint64_t{1} << last) - 1) << 1);
  if (any_day_of_month_ && any_day_of_week_) return all;
  std::uint32_t found = 0;
  if (!any_day_of_month_) {
    found = days_;
    if (last_day_) found |= std::uint32_t{1} << last;
    for (unsigned day = 1; day <= last; ++day) {
      if (workdays_nearest_ >> day & 1) found |= std::uint32_t{1} << nearest_workday(of, day, last);
    }
    if (last_workday_) found |= std::uint32_t{1} << nearest_workday(of, last, last);
  }
  if (!any_day_of_week_) {
    const unsigned first = weekday{sys_days{of / std::chrono::day{1}}}.c_encoding();
    for (unsigned day = 1; day <= last; ++day) {
      const unsigned on = (first + day - 1) % 7;
      const std::uint8_t wanted = static_cast<std::uint8_t>(weekdays_ | nth_weekdays_[(day - 1) / 7 + 1] |
                                                            (day + 7 > last ? last_weekdays_ : 0));
      if (wanted >> on & 1) found |= std::uint32_t{1} << day;
    }
  }
  return found & all;
}

std::optional<std::int64_t> Cron::time_of_day_from(std::int64_t second) const {
  std::int64_t hour = second / 3600, minute = second / 60 % 60;
  second %= 60;
  while (const auto h = first_bit(hours_, hour)) {
    if (*h != hour) minute = second = 0;
    while (const auto m = first_bit(minutes_, minute)) {
      if (*m != minute) second = 0;
      if (const auto s = first_bit(seconds_, second)) return *h * 3600 + *m * 60 + *s;
      minute = *m + 1;
      second = 0;
    }
    hour = *h + 1;
    minute = second = 0;
  }
  return std::nullopt;
}

/// The first match at or after `local`: seconds since the epoch by the clocks of the zone, as if they never changed.
std::optional<std::int64_t> Cron::first_from(std::int64_t local) const {
  using namespace std::chrono;
  std::int64_t day_number = local >= 0 ? local / kDay : (local - kDay + 1) / kDay;
  auto time = time_of_day_from(local - day_number * kDay);
  if (!time) ++day_number;
  const year_month_day from{sys_days{days{day_number}}};
  int year = static_cast<int>(from.year());
  unsigned month = static_cast<unsigned>(from.month()), day = static_cast<unsigned>(from.day());
  if (year < kFirstYear) year = kFirstYear, month = day = 1;
  for (; year <= kLastYear; ++year, month = day = 1) {
    if (!years_.test(static_cast<std::size_t>(year - kFirstYear))) continue;
    for (; month <= 12; ++month, day = 1) {
      if ((months_ >> month & 1) == 0) continue;
      const auto found = first_bit(days_of(year, month), day);
      if (!found) continue;
      const sys_days date{std::chrono::year{year} / std::chrono::month{month} /
                          std::chrono::day{static_cast<unsigned>(*found)}};
      const std::int64_t number = date.time_since_epoch().count();
      if (number != day_number || !time) time = time_of_day_from(0);
      return number * kDay + *time;
    }
  }
  return std::nullopt;
}

std::optional<TimePoint> Cron::next(const zone::TimeZone& zone, TimePoint after) const {
  using namespace std::chrono;
  std::int64_t from = floor<seconds>(after.time_since_epoch()).count() + 1;
  // Whatever the clocks still do, they are set back by less than two days in all.
  if (!first_from(from + zone.at(from).offset - 2 * kDay)) return std::nullopt;
  while (true) {
    const auto span = zone.at(from);
    const auto local = first_from(from + span.offset);
    if (local && *local - span.offset < span.until) return TimePoint{seconds{*local - span.offset}};
    if (span.until == zone::TimeZone::kNever || span.until > (kLastYear - kFirstYear + 2) * 366 * kDay)
      return std::nullopt;
    from = span.until;
  }
}

std::optional<TimePoint> next_time(const std::vector<std::string>& expressions, const std::string& zone,
                                   TimePoint after) {
  const auto clocks = zone::get_time_zone(zone);
  std::optional<TimePoint> first;
  for (const auto& expression : expressions) {
    const auto time = Cron::parse(expression).next(clocks, after);
    if (time && (!first || *time < *first)) first = time;
  }
  return first;
}

std::optional<TimePoint> last_time(const std::vector<std::string>& expressions, const std::string& zone,
                                   TimePoint after, TimePoint until) {
  using namespace std::chrono;
  const auto clocks = zone::get_time_zone(zone);
  std::optional<TimePoint> latest;
  for (const auto& expression : expressions) {
    const Cron cron = Cron::parse(expression);
    auto low = floor<seconds>(after), high = floor<seconds>(until);
    const auto comes = [&](auto since) {
      const auto time = cron.next(clocks, since);
      return time && *time <= until;
    };
    if (low >= high || !comes(low)) continue;
    // There may be a million between: halved until it is the last.
    while (high - low > seconds{1}) {
      const auto middle = low + (high - low) / 2;
      const auto at = floor<seconds>(middle);
      (comes(at) ? low : high) = at;
    }
    const auto time = cron.next(clocks, low);
    if (!latest || *time > *latest) latest = time;
  }
  return latest;
}

}  // namespace underway::model
