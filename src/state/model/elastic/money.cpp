#include "model/elastic/money.hpp"

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

/// Nine digits before the point: 10^15 micro-units, a thousandth of what 64 bits hold, so that sums of many fit too.
constexpr std::size_t kMostWholeDigits = 9;
constexpr std::size_t kDecimals = 6;

bool all_digits(std::string_view text) {
  for (const char c : text) {
    if (!is_digit(c)) return false;
  }
  return true;
}

}  // namespace

std::optional<Money> parse_money(std::string_view text) {
  const auto point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view decimals = point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty() || whole.size() > kMostWholeDigits || decimals.size() > kDecimals) return std::nullopt;
  if (!all_digits(whole) || !all_digits(decimals) || (point != std::string_view::npos && decimals.empty()))
    return std::nullopt;
  std::string micros(decimals);
  micros.resize(kDecimals, '0');
  return *parse_number<Money>(whole) * kUnit + *parse_number<Money>(micros);
}

std::string format_money(Money amount) {
  const Money positive = amount < 0 ? -amount : amount;
  std::string text = fmt::format("{}{}.{:06}", amount < 0 ? "-" : "", positive / kUnit, positive % kUnit);
  const std::size_t least = text.size() - kDecimals + 2;
  while (text.size() > least && text.back() == '0') text.pop_back();
  return text;
}

Money cost_of(Money hourly, Duration span) {
  if (span <= Duration{0}) return 0;
  constexpr std::int64_t kHour = 3'600'000'000'000;
  return static_cast<Money>(static_cast<__int128>(hourly) * span.count() / kHour);
}

}  // namespace underway::model
