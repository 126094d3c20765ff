// Times read by a layout, as Go's time.Parse does it.
#include "base/numbers.hpp"
#include "base/text.hpp"
#include "gotemplate/time/time.hpp"

#include <algorithm>
#include <initializer_list>

namespace underway::gotemplate {

namespace {

bool is_leap(std::int64_t year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

int days_in(int month, std::int64_t year) {
  static constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return month == 2 && is_leap(year) ? 29 : kDays[month - 1];
}

/// The size of what looks like the name of a zone: "CET", "GMT+3", "-03"; 0 for what does not.
std::size_t signed_offset(std::string_view text) {
  std::size_t size = 1;
  int value = 0;
  while (size < text.size() && is_digit(text[size])) {
    value = std::min(value * 10 + (text[size] - '0'), 1000);
    ++size;
  }
  return size > 1 && value <= 23 ? size : 0;
}

std::size_t zone_size(std::string_view text) {
  if (text.size() < 3) return 0;
  if (text.starts_with("ChST") || text.starts_with("MeST")) return 4;
  if (text.starts_with("GMT")) {
    const bool has_sign = text.size() > 3 && (text[3] == '+' || text[3] == '-');
    return 3 + (has_sign ? signed_offset(text.substr(3)) : 0);
  }
  if (text[0] == '+' || text[0] == '-') return signed_offset(text);
  std::size_t upper = 0;
  while (upper < 6 && upper < text.size() && text[upper] >= 'A' && text[upper] <= 'Z') ++upper;
  if (upper == 5) return text[4] == 'T' ? 5 : 0;
  if (upper == 4) return text[3] == 'T' || text.starts_with("WITA") ? 4 : 0;
  return upper == 3 ? 3 : 0;
}

/// Reads a text piece by piece. `read` is false when the text does not fit.
class TimeReader {
 public:
  explicit TimeReader(std::string_view text) : rest_(text) {}

  /// `following` is the layout behind the piece.
  bool read(const LayoutPiece& piece, std::string_view following) {
    switch (piece.piece) {
      case Piece::literal:
        return literal(piece.spelled[0]);
      case Piece::month_name:
      case Piece::month_short:
        return name(kMonths, piece.piece == Piece::month_short, month_);
      case Piece::weekday_name:
      case Piece::weekday_short: {
        int ignored = 0;
        return name(kWeekdays, piece.piece == Piece::weekday_short, ignored);
      }
      case Piece::month:
      case Piece::month_2:
        return number(piece.piece == Piece::month_2, month_) && month_ >= 1 && month_ <= 12;
      case Piece::day_blank:
        blank();
        [[fallthrough]];
      case Piece::day:
      case Piece::day_2:
        return number(piece.piece == Piece::day_2, day_);
      case Piece::day_of_year_blank:
        blank();
        blank();
        [[fallthrough]];
      case Piece::day_of_year:
        return day_of_year(piece.piece == Piece::day_of_year);
      case Piece::hour_2:
        return number(false, hour_) && hour_ < 24;
      case Piece::hour_12:
      case Piece::hour_12_2:
        return number(piece.piece == Piece::hour_12_2, hour_) && hour_ <= 12;
      case Piece::minute:
      case Piece::minute_2:
        return number(piece.piece == Piece::minute_2, minute_) && minute_ < 60;
      case Piece::second:
      case Piece::second_2:
        return number(piece.piece == Piece::second_2, second_) && second_ < 60 && unasked_fraction(following);
      case Piece::year:
        return year(4);
      case Piece::year_2:
        if (!year(2)) return false;
        year_ += year_ >= 69 ? 1900 : 2000;
        return true;
      case Piece::half_upper:
        return half("AM", "PM");
      case Piece::half_lower:
        return half("am", "pm");
      case Piece::zone_name:
        return zone();
      case Piece::offset:
        return offset(piece);
      case Piece::fraction_fixed:
        return fraction(piece.spelled.size());
      case Piece::fraction:
        return asked_fraction();
    }
    return false;
  }

  std::optional<Instant> result() {
    if (!rest_.empty()) return std::nullopt;
    if (after_noon_ && hour_ < 12) hour_ += 12;
    if (before_noon_ && hour_ == 12) hour_ = 0;
    if (of_year_ >= 0 && !from_day_of_year()) return std::nullopt;
    const int month = month_ < 0 ? 1 : month_;
    const int day = day_ < 0 ? 1 : day_;
    if (day < 1 || day > days_in(month, year_)) return std::nullopt;
    Instant out;
    out.seconds =
        days_of(year_, month, day) * 86'400 + std::int64_t{hour_} * 3600 + std::int64_t{minute_} * 60 + second_;
    out.nanos = nanos_;
    if (utc_) return out;
    if (offset_) {
      out.seconds -= *offset_;
      // The zone of this machine is UTC: it has this offset, or a zone without a name has it.
      out.local = *offset_ == 0 && zone_.empty();
      if (out.local) return out;
      out.offset = *offset_;
      out.zone = zone_;
      return out;
    }
    if (!zone_.empty()) {
      if (zone_.starts_with("GMT") && zone_.size() > 3) out.offset = 3600 * std::atoi(zone_.c_str() + 3);
      out.zone = zone_;
      return out;
    }
    out.local = true;
    return out;
  }

 private:
  /// A blank of the layout is any number of them.
  bool literal(char c) {
    if (c == ' ') {
      if (!rest_.empty() && rest_[0] != ' ') return false;
      while (rest_.starts_with(' ')) rest_.remove_prefix(1);
      return true;
    }
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void blank() {
    if (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }

  /// One digit or two; two only if `fixed`.
  bool number(bool fixed, int& value) {
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    const bool two = rest_.size() > 1 && is_digit(rest_[1]);
    if (fixed && !two) return false;
    value = rest_[0] - '0';
    if (two) value = value * 10 + (rest_[1] - '0');
    rest_.remove_prefix(two ? 2 : 1);
    return true;
  }

  bool day_of_year(bool fixed) {
    std::size_t size = 0;
    int value = 0;
    while (size < 3 && size < rest_.size() && is_digit(rest_[size])) value = value * 10 + (rest_[size++] - '0');
    if (size == 0 || (fixed && size != 3)) return false;
    rest_.remove_prefix(size);
    of_year_ = value;
    return true;
  }

  bool year(std::size_t digits) {
    if (rest_.size() < digits) return false;
    const std::string_view front = rest_.substr(0, digits);
    // Go reads it with a sign, but a year of four begins with a digit.
    if (digits == 4 && !is_digit(front[0])) return false;
    const std::string_view plain = front[0] == '+' ? front.substr(1) : front;
    const auto year = parse_number<decltype(year_)>(plain);
    if (!year) return false;
    year_ = *year;
    rest_.remove_prefix(digits);
    return true;
  }

  template <std::size_t N>
  bool name(const std::array<std::string_view, N>& names, bool brief, int& value) {
    for (std::size_t i = 0; i < N; ++i) {
      const std::string_view wanted = brief ? names[i].substr(0, 3) : names[i];
      if (rest_.size() < wanted.size()) continue;
      const bool equal = std::equal(wanted.begin(), wanted.end(), rest_.begin(),
                                    [](char a, char b) { return (a | 0x20) == (b | 0x20) && (b & 0x40) != 0; });
      if (!equal) continue;
      rest_.remove_prefix(wanted.size());
      value = static_cast<int>(i) + 1;
      return true;
    }
    return false;
  }

  bool half(std::string_view before_noon, std::string_view after_noon) {
    if (!rest_.starts_with(before_noon) && !rest_.starts_with(after_noon)) return false;
    (rest_.starts_with(before_noon) ? before_noon_ : after_noon_) = true;
    rest_.remove_prefix(2);
    return true;
  }

  /// A point or comma and digits, `size` bytes together.
  bool fraction(std::size_t size) {
    if (rest_.size() < size || size > 10 + rest_.size() || (rest_[0] != '.' && rest_[0] != ',')) return false;
    const std::string_view digits = rest_.substr(1, std::min<std::size_t>(size - 1, 9));
    if (!std::ranges::all_of(rest_.substr(1, size - 1).substr(0, 9), is_digit)) return false;
    nanos_ = 0;
    for (std::size_t i = 0; i < 9; ++i) nanos_ = nanos_ * 10 + (i < digits.size() ? digits[i] - '0' : 0);
    rest_.remove_prefix(size);
    return true;
  }

  std::size_t digits_behind_point() const {
    std::size_t size = 1;
    while (size < rest_.size() && is_digit(rest_[size])) ++size;
    return size;
  }

  bool has_fraction() const { return rest_.size() >= 2 && (rest_[0] == '.' || rest_[0] == ',') && is_digit(rest_[1]); }

  bool asked_fraction() { return !has_fraction() || fraction(digits_behind_point()); }

  /// Decimals may follow seconds even where the layout has none.
  bool unasked_fraction(std::string_view following) {
    if (!has_fraction()) return true;
    while (!following.empty()) {
      const LayoutPiece next = next_piece(following);
      if (next.piece == Piece::fraction || next.piece == Piece::fraction_fixed) return true;
      if (next.piece != Piece::literal) break;
      following.remove_prefix(next.spelled.size());
    }
    return fraction(digits_behind_point());
  }

  bool zone() {
    if (rest_.starts_with("UTC")) {
      utc_ = true;
      rest_.remove_prefix(3);
      return true;
    }
    const std::size_t size = zone_size(rest_);
    if (size == 0) return false;
    zone_ = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return true;
  }

  bool offset(const LayoutPiece& piece) {
    if (piece.is_zone_z() && rest_.starts_with('Z')) {
      rest_.remove_prefix(1);
      utc_ = true;
      return true;
    }
    if (rest_.size() < piece.spelled.size() || (rest_[0] != '+' && rest_[0] != '-')) return false;
    const bool negative = rest_[0] == '-';
    std::string_view rest = rest_.substr(1);
    int parts[3] = {};
    for (std::size_t i = 0; i * 2 < piece.offset_digits(); ++i) {
      if (i > 0 && piece.has_colon()) {
        if (rest[0] != ':') return false;
        rest.remove_prefix(1);
      }
      if (!is_digit(rest[0]) || !is_digit(rest[1])) return false;
      parts[i] = (rest[0] - '0') * 10 + (rest[1] - '0');
      rest.remove_prefix(2);
    }
    if (parts[0] > 24 || parts[1] > 60 || parts[2] > 60) return false;
    const int size = (parts[0] * 60 + parts[1]) * 60 + parts[2];
    offset_ = negative ? -size : size;
    rest_ = rest;
    return true;
  }

  bool from_day_of_year() {
    if (of_year_ < 1 || of_year_ > (is_leap(year_) ? 366 : 365)) return false;
    const Date date = date_of(days_of(year_, 1, 1) + of_year_ - 1);
    if ((month_ >= 0 && month_ != date.month) || (day_ >= 0 && day_ != date.day)) return false;
    month_ = date.month;
    day_ = date.day;
    return true;
  }

  std::string_view rest_;
  int year_ = 0;
  int month_ = -1;
  int day_ = -1;
  int of_year_ = -1;
  int hour_ = 0;
  int minute_ = 0;
  int second_ = 0;
  int nanos_ = 0;
  bool before_noon_ = false;
  bool after_noon_ = false;
  bool utc_ = false;
  std::optional<int> offset_;
  std::string zone_;
};

}  // namespace

std::optional<Instant> parse_layout(std::string_view text, std::string_view layout) {
  TimeReader reader(text);
  while (!layout.empty()) {
    const LayoutPiece piece = next_piece(layout);
    layout.remove_prefix(piece.spelled.size());
    if (!reader.read(piece, layout)) return std::nullopt;
  }
  return reader.result();
}

}  // namespace underway::gotemplate
