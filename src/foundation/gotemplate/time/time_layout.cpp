// Layouts of times: their pieces, and writing.
#include "gotemplate/time/time.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace underway::gotemplate {

const std::array<std::string_view, 12> kMonths = {"January",   "February", "March",    "April",
                                                  "May",       "June",     "July",     "August",
                                                  "September", "October",  "November", "December"};
const std::array<std::string_view, 7> kWeekdays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                   "Thursday", "Friday", "Saturday"};

namespace {

struct Spelling {
  std::string_view text;
  Piece piece;
};

/// Longer spellings stand before their beginnings.
constexpr Spelling kSpellings[] = {
    {"January", Piece::month_name}, {"Jan", Piece::month_short},  {"Monday", Piece::weekday_name},
    {"Mon", Piece::weekday_short},  {"MST", Piece::zone_name},    {"2006", Piece::year},
    {"002", Piece::day_of_year},    {"01", Piece::month_2},       {"02", Piece::day_2},
    {"03", Piece::hour_12_2},       {"04", Piece::minute_2},      {"05", Piece::second_2},
    {"06", Piece::year_2},          {"15", Piece::hour_2},        {"__2", Piece::day_of_year_blank},
    {"_2", Piece::day_blank},       {"PM", Piece::half_upper},    {"pm", Piece::half_lower},
    {"-070000", Piece::offset},     {"-07:00:00", Piece::offset}, {"-0700", Piece::offset},
    {"-07:00", Piece::offset},      {"-07", Piece::offset},       {"Z070000", Piece::offset},
    {"Z07:00:00", Piece::offset},   {"Z0700", Piece::offset},     {"Z07:00", Piece::offset},
    {"Z07", Piece::offset},         {"1", Piece::month},          {"2", Piece::day},
    {"3", Piece::hour_12},          {"4", Piece::minute},         {"5", Piece::second}};

bool is_digit_at(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

/// "Jan" and "Mon" in "Janet" and "Money" are no names.
bool is_name_of_others(const Spelling& spelling, std::string_view layout) {
  if (spelling.piece != Piece::month_short && spelling.piece != Piece::weekday_short) return false;
  return layout.size() > 3 && layout[3] >= 'a' && layout[3] <= 'z';
}

struct Fields {
  Date date;
  std::int64_t hour, minute, second;
  int weekday;
  std::int64_t day_of_year;
};

Fields fields_of(const Instant& time) {
  // Go counts from the first of March of the year -292277022400 without a sign: earlier times are later ones.
  constexpr std::uint64_t kDaysBefore =
      292'277'022'400 / 10'000 * 3'652'425 + 292'277'022'400 % 10'000 * 3'652'425 / 10'000 + 306 + 719'162;
  const std::uint64_t counted =
      static_cast<std::uint64_t>(time.seconds) + static_cast<std::uint64_t>(time.offset) + kDaysBefore * 86'400;
  const auto days = static_cast<std::int64_t>(counted / 86'400) - static_cast<std::int64_t>(kDaysBefore);
  const auto rest = static_cast<std::int64_t>(counted % 86'400);
  const Date date = date_of(days);
  return {date,
          rest / 3600,
          rest / 60 % 60,
          rest % 60,
          static_cast<int>(((days + 4) % 7 + 7) % 7),
          days - days_of(date.year, 1, 1) + 1};
}

std::string written_fraction(const LayoutPiece& piece, int nanos) {
  std::string digits = fmt::format("{:09}", nanos).substr(0, piece.spelled.size() - 1);
  if (piece.piece == Piece::fraction) digits.erase(digits.find_last_not_of('0') + 1);
  return digits.empty() ? "" : piece.spelled[0] + digits;
}

std::string written_offset(const LayoutPiece& piece, int offset) {
  if (piece.is_zone_z() && offset == 0) return "Z";
  const int size = std::abs(offset);
  // Go takes the sign from the minutes: less than one is "+".
  std::string out = fmt::format("{}{:02}", offset / 60 < 0 ? '-' : '+', size / 3600);
  const std::string_view colon = piece.has_colon() ? ":" : "";
  if (piece.offset_digits() > 2) out += fmt::format("{}{:02}", colon, size / 60 % 60);
  if (piece.offset_digits() > 4) out += fmt::format("{}{:02}", colon, size % 60);
  return out;
}

std::string written_zone(const Instant& time) {
  if (!time.zone.empty()) return time.zone;
  const int minutes = std::abs(time.offset / 60);
  return fmt::format("{}{:02}{:02}", time.offset / 60 < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::string written_year(std::int64_t year) {
  return year < 0 ? fmt::format("-{:04}", -year) : fmt::format("{:04}", year);
}

std::string written(const LayoutPiece& piece, const Fields& f, const Instant& time) {
  const std::int64_t hour_12 = f.hour % 12 == 0 ? 12 : f.hour % 12;
  switch (piece.piece) {
    case Piece::literal:
      return std::string(piece.spelled);
    case Piece::month_name:
      return std::string(kMonths[static_cast<std::size_t>(f.date.month - 1)]);
    case Piece::month_short:
      return std::string(kMonths[static_cast<std::size_t>(f.date.month - 1)].substr(0, 3));
    case Piece::month:
      return fmt::to_string(f.date.month);
    case Piece::month_2:
      return fmt::format("{:02}", f.date.month);
    case Piece::weekday_name:
      return std::string(kWeekdays[static_cast<std::size_t>(f.weekday)]);
    case Piece::weekday_short:
      return std::string(kWeekdays[static_cast<std::size_t>(f.weekday)].substr(0, 3));
    case Piece::day:
      return fmt::to_string(f.date.day);
    case Piece::day_blank:
      return fmt::format("{:2}", f.date.day);
    case Piece::day_2:
      return fmt::format("{:02}", f.date.day);
    case Piece::day_of_year:
      return fmt::format("{:03}", f.day_of_year);
    case Piece::day_of_year_blank:
      return fmt::format("{:3}", f.day_of_year);
    case Piece::hour_2:
      return fmt::format("{:02}", f.hour);
    case Piece::hour_12:
      return fmt::to_string(hour_12);
    case Piece::hour_12_2:
      return fmt::format("{:02}", hour_12);
    case Piece::minute:
      return fmt::to_string(f.minute);
    case Piece::minute_2:
      return fmt::format("{:02}", f.minute);
    case Piece::second:
      return fmt::to_string(f.second);
    case Piece::second_2:
      return fmt::format("{:02}", f.second);
    case Piece::year:
      return written_year(f.date.year);
    case Piece::year_2:
      return fmt::format("{:02}", std::max<std::int64_t>(f.date.year, 0) % 100);
    case Piece::half_upper:
      return f.hour >= 12 ? "PM" : "AM";
    case Piece::half_lower:
      return f.hour >= 12 ? "pm" : "am";
    case Piece::zone_name:
      return written_zone(time);
    case Piece::offset:
      return written_offset(piece, time.offset);
    case Piece::fraction_fixed:
    case Piece::fraction:
      return written_fraction(piece, time.nanos);
  }
  return {};
}

}  // namespace

LayoutPiece next_piece(std::string_view layout) {
  if ((layout[0] == '.' || layout[0] == ',') && layout.size() > 1 && (layout[1] == '0' || layout[1] == '9')) {
    std::size_t size = 1;
    while (size < layout.size() && layout[size] == layout[1]) ++size;
    if (!is_digit_at(layout, size))
      return {layout[1] == '0' ? Piece::fraction_fixed : Piece::fraction, layout.substr(0, size)};
  }
  for (const Spelling& spelling : kSpellings) {
    if (!layout.starts_with(spelling.text) || is_name_of_others(spelling, layout)) continue;
    // "_2006" is a literal and a year.
    if (spelling.piece == Piece::day_blank && layout.starts_with("_2006")) break;
    return {spelling.piece, layout.substr(0, spelling.text.size())};
  }
  return {Piece::literal, layout.substr(0, 1)};
}

// Hinnant, "chrono-compatible low-level date algorithms": days_from_civil and civil_from_days.
std::int64_t days_of(std::int64_t year, int month, int day) {
  if (month <= 2) --year;
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t of_era = year - era * 400;
  const std::int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146'097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719'468;
}

Date date_of(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t of_era = days - era * 146'097;
  const std::int64_t years = (of_era - of_era / 1460 + of_era / 36'524 - of_era / 146'096) / 365;
  const std::int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
  const std::int64_t shifted = (5 * of_year + 2) / 153;
  const int month = static_cast<int>(shifted < 10 ? shifted + 3 : shifted - 9);
  return {years + era * 400 + (month <= 2 ? 1 : 0), month, static_cast<int>(of_year - (153 * shifted + 2) / 5 + 1)};
}

Instant instant_of(TimePoint time) {
  const auto whole = std::chrono::floor<std::chrono::seconds>(time);
  Instant out;
  out.seconds = whole.time_since_epoch().count();
  out.nanos = static_cast<int>((time - whole).count());
  return out;
}

std::string format_layout(const Instant& time, std::string_view layout) {
  const Fields fields = fields_of(time);
  std::string out;
  while (!layout.empty()) {
    const LayoutPiece piece = next_piece(layout);
    out += written(piece, fields, time);
    layout.remove_prefix(piece.spelled.size());
  }
  return out;
}

}  // namespace underway::gotemplate
