#include "gotemplate/detail/time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace underway::gotemplate::detail {

namespace {

using namespace std::chrono;

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
  day_of_year,
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
  offset_z,        ///< Z0700
  offset_z_colon,  ///< Z07:00
  offset,          ///< -0700
  offset_colon,    ///< -07:00
  offset_short,    ///< -07
  fraction_fixed,  ///< .000
  fraction,        ///< .999
};

struct Spelling {
  std::string_view text;
  Piece piece;
};

/// Longer spellings stand before their beginnings.
constexpr std::array<Spelling, 28> kSpellings = {{{"January", Piece::month_name},
                                                  {"Jan", Piece::month_short},
                                                  {"Monday", Piece::weekday_name},
                                                  {"Mon", Piece::weekday_short},
                                                  {"MST", Piece::zone_name},
                                                  {"2006", Piece::year},
                                                  {"002", Piece::day_of_year},
                                                  {"01", Piece::month_2},
                                                  {"02", Piece::day_2},
                                                  {"03", Piece::hour_12_2},
                                                  {"04", Piece::minute_2},
                                                  {"05", Piece::second_2},
                                                  {"06", Piece::year_2},
                                                  {"15", Piece::hour_2},
                                                  {"_2", Piece::day_blank},
                                                  {"PM", Piece::half_upper},
                                                  {"pm", Piece::half_lower},
                                                  {"-07:00", Piece::offset_colon},
                                                  {"-0700", Piece::offset},
                                                  {"-07", Piece::offset_short},
                                                  {"Z07:00", Piece::offset_z_colon},
                                                  {"Z0700", Piece::offset_z},
                                                  {"1", Piece::month},
                                                  {"2", Piece::day},
                                                  {"3", Piece::hour_12},
                                                  {"4", Piece::minute},
                                                  {"5", Piece::second},
                                                  {"", Piece::literal}}};

constexpr std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                      "May",       "June",     "July",     "August",
                                                      "September", "October",  "November", "December"};
constexpr std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                       "Thursday", "Friday", "Saturday"};

/// The piece at the front of `layout` and its size in it; a literal is one byte.
std::pair<Piece, std::size_t> next_piece(std::string_view layout) {
  if ((layout[0] == '.' || layout[0] == ',') && layout.size() > 1 && (layout[1] == '0' || layout[1] == '9')) {
    std::size_t size = 1;
    while (size < layout.size() && layout[size] == layout[1]) ++size;
    const bool digit_follows = size < layout.size() && layout[size] >= '0' && layout[size] <= '9';
    if (!digit_follows) return {layout[1] == '0' ? Piece::fraction_fixed : Piece::fraction, size};
  }
  for (const auto& spelling : kSpellings) {
    if (!layout.starts_with(spelling.text)) continue;
    // "_2006" is a literal and a year; "Januaryx" is none of the month's.
    if (spelling.piece == Piece::day_blank && layout.starts_with("_2006")) return {Piece::literal, 1};
    return {spelling.piece, std::max<std::size_t>(spelling.text.size(), 1)};
  }
  return {Piece::literal, 1};
}

struct Fields {
  year_month_day date;
  hh_mm_ss<Duration> time;
  weekday day;
  int day_of_year;
};

Fields fields_of(TimePoint time) {
  const auto day = floor<days>(time);
  const year_month_day date{day};
  return {date, hh_mm_ss<Duration>{time - day}, weekday{day},
          static_cast<int>((day - sys_days{date.year() / January / 1}).count()) + 1};
}

std::string fraction_of(const Fields& fields, std::string_view spelled, bool fixed) {
  std::string digits = fmt::format("{:09}", fields.time.subseconds().count()).substr(0, spelled.size() - 1);
  if (!fixed) digits.erase(digits.find_last_not_of('0') + 1);
  return digits.empty() ? "" : spelled[0] + digits;
}

std::string format_piece(Piece piece, const Fields& f, std::string_view spelled) {
  const auto month = static_cast<unsigned>(f.date.month());
  const auto day = static_cast<unsigned>(f.date.day());
  const auto hour = f.time.hours().count();
  const auto hour_12 = hour % 12 == 0 ? 12 : hour % 12;
  const int year = static_cast<int>(f.date.year());
  switch (piece) {
    case Piece::literal:
      return std::string(spelled);
    case Piece::month_name:
      return std::string(kMonths[month - 1]);
    case Piece::month_short:
      return std::string(kMonths[month - 1].substr(0, 3));
    case Piece::month:
      return fmt::to_string(month);
    case Piece::month_2:
      return fmt::format("{:02}", month);
    case Piece::weekday_name:
      return std::string(kWeekdays[f.day.c_encoding()]);
    case Piece::weekday_short:
      return std::string(kWeekdays[f.day.c_encoding()].substr(0, 3));
    case Piece::day:
      return fmt::to_string(day);
    case Piece::day_blank:
      return fmt::format("{:2}", day);
    case Piece::day_2:
      return fmt::format("{:02}", day);
    case Piece::day_of_year:
      return fmt::format("{:03}", f.day_of_year);
    case Piece::hour_2:
      return fmt::format("{:02}", hour);
    case Piece::hour_12:
      return fmt::to_string(hour_12);
    case Piece::hour_12_2:
      return fmt::format("{:02}", hour_12);
    case Piece::minute:
      return fmt::to_string(f.time.minutes().count());
    case Piece::minute_2:
      return fmt::format("{:02}", f.time.minutes().count());
    case Piece::second:
      return fmt::to_string(f.time.seconds().count());
    case Piece::second_2:
      return fmt::format("{:02}", f.time.seconds().count());
    case Piece::year:
      return fmt::format("{:04}", year);
    case Piece::year_2:
      return fmt::format("{:02}", year % 100);
    case Piece::half_upper:
      return hour >= 12 ? "PM" : "AM";
    case Piece::half_lower:
      return hour >= 12 ? "pm" : "am";
    case Piece::zone_name:
      return "UTC";
    case Piece::offset_z:
    case Piece::offset_z_colon:
      return "Z";
    case Piece::offset:
      return "+0000";
    case Piece::offset_colon:
      return "+00:00";
    case Piece::offset_short:
      return "+00";
    case Piece::fraction_fixed:
    case Piece::fraction:
      return fraction_of(f, spelled, piece == Piece::fraction_fixed);
  }
  return {};
}

/// Reads a text piece by piece.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool read(Piece piece, std::string_view spelled) {
    switch (piece) {
      case Piece::literal:
        return take(spelled);
      case Piece::month_name:
      case Piece::month_short:
        return name(kMonths, piece == Piece::month_short, month_);
      case Piece::weekday_name:
      case Piece::weekday_short: {
        int ignored = 0;
        return name(kWeekdays, piece == Piece::weekday_short, ignored);
      }
      case Piece::month:
        return number(1, 2, month_);
      case Piece::month_2:
        return number(2, 2, month_);
      case Piece::day:
        return number(1, 2, day_);
      case Piece::day_blank:
        take(" ");
        return number(1, 2, day_);
      case Piece::day_2:
        return number(2, 2, day_);
      case Piece::hour_2:
        return number(2, 2, hour_);
      case Piece::hour_12:
        return number(1, 2, hour_);
      case Piece::hour_12_2:
        return number(2, 2, hour_);
      case Piece::minute:
        return number(1, 2, minute_);
      case Piece::minute_2:
        return number(2, 2, minute_);
      case Piece::second:
        return number(1, 2, second_) && fraction();
      case Piece::second_2:
        return number(2, 2, second_) && fraction();
      case Piece::year:
        return number(4, 4, year_);
      case Piece::year_2:
        if (!number(2, 2, year_)) return false;
        year_ += year_ >= 69 ? 1900 : 2000;
        return true;
      case Piece::half_upper:
        return half("AM", "PM");
      case Piece::half_lower:
        return half("am", "pm");
      case Piece::zone_name:
        return take("UTC") || take("GMT");
      case Piece::offset_z:
      case Piece::offset_z_colon:
        return take("Z") || offset(piece == Piece::offset_z_colon);
      case Piece::offset:
      case Piece::offset_colon:
        return offset(piece == Piece::offset_colon);
      case Piece::offset_short:
        return sign_and_hours();
      case Piece::fraction_fixed:
      case Piece::fraction:
        return true;  // read with the seconds
      case Piece::day_of_year:
        return false;
    }
    return false;
  }

  std::optional<TimePoint> result() const {
    const year_month_day date{year{year_}, month{static_cast<unsigned>(month_)}, day{static_cast<unsigned>(day_)}};
    constexpr int kFirst = 1678;  // what TimePoint holds
    constexpr int kLast = 2261;
    if (!rest_.empty() || !date.ok() || year_ < kFirst || year_ > kLast || hour_ > 23 || minute_ > 59 || second_ > 59)
      return std::nullopt;
    return TimePoint{sys_days{date}} + hours{hour_} + minutes{minute_} + seconds{second_} + nanoseconds{nanos_} -
           offset_;
  }

 private:
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }

  bool number(std::size_t least, std::size_t most, int& value) {
    std::size_t digits = 0;
    while (digits < most && digits < rest_.size() && rest_[digits] >= '0' && rest_[digits] <= '9') ++digits;
    if (digits < least) return false;
    const std::string_view front = rest_.substr(0, digits);
    std::from_chars(front.data(), front.data() + front.size(), value);
    rest_.remove_prefix(digits);
    return true;
  }

  /// Decimals may follow seconds even where the layout has none.
  bool fraction() {
    if (rest_.size() < 2 || (rest_[0] != '.' && rest_[0] != ',') || rest_[1] < '0' || rest_[1] > '9') return true;
    rest_.remove_prefix(1);
    int scale = 100'000'000;
    for (; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; rest_.remove_prefix(1), scale /= 10)
      nanos_ += (rest_[0] - '0') * scale;
    return true;
  }

  template <std::size_t N>
  bool name(const std::array<std::string_view, N>& names, bool brief, int& value) {
    for (std::size_t i = 0; i < N; ++i) {
      if (!take(brief ? names[i].substr(0, 3) : names[i])) continue;
      value = static_cast<int>(i) + 1;
      return true;
    }
    return false;
  }

  bool half(std::string_view before_noon, std::string_view after_noon) {
    if (take(before_noon)) {
      if (hour_ == 12) hour_ = 0;
      return true;
    }
    if (!take(after_noon)) return false;
    if (hour_ < 12) hour_ += 12;
    return true;
  }

  bool sign_and_hours() {
    const bool negative = rest_.starts_with('-');
    if (!negative && !rest_.starts_with('+')) return false;
    rest_.remove_prefix(1);
    int value = 0;
    if (!number(2, 2, value)) return false;
    offset_ = hours{negative ? -value : value};
    return true;
  }

  bool offset(bool colon) {
    const bool negative = rest_.starts_with('-');
    int value = 0;
    if (!sign_and_hours() || (colon && !take(":")) || !number(2, 2, value)) return false;
    offset_ += minutes{negative ? -value : value};
    return true;
  }

  std::string_view rest_;
  int year_ = 1970;
  int month_ = 1;
  int day_ = 1;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
  int nanos_ = 0;
  minutes offset_{0};
};

}  // namespace

std::string format_layout(TimePoint time, std::string_view layout) {
  const Fields fields = fields_of(time);
  std::string out;
  while (!layout.empty()) {
    const auto [piece, size] = next_piece(layout);
    out += format_piece(piece, fields, layout.substr(0, size));
    layout.remove_prefix(size);
  }
  return out;
}

std::optional<TimePoint> parse_layout(std::string_view text, std::string_view layout) {
  Reader reader(text);
  while (!layout.empty()) {
    const auto [piece, size] = next_piece(layout);
    if (!reader.read(piece, layout.substr(0, size))) return std::nullopt;
    layout.remove_prefix(size);
  }
  return reader.result();
}

}  // namespace underway::gotemplate::detail
