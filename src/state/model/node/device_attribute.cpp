#include "model/node/device_attribute.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace underway::model {
namespace {

enum class Quantity : std::uint8_t { bytes, rate, frequency, power };

struct Unit {
  std::string_view name;
  Quantity quantity;
  double factor;
};

constexpr double kKibi = 1024, kKilo = 1000;
constexpr double power(double base, int exponent) { return exponent == 0 ? 1 : base * power(base, exponent - 1); }

constexpr std::array kUnits = {
    Unit{"B", Quantity::bytes, 1},
    Unit{"KiB", Quantity::bytes, power(kKibi, 1)},
    Unit{"MiB", Quantity::bytes, power(kKibi, 2)},
    Unit{"GiB", Quantity::bytes, power(kKibi, 3)},
    Unit{"TiB", Quantity::bytes, power(kKibi, 4)},
    Unit{"PiB", Quantity::bytes, power(kKibi, 5)},
    Unit{"EiB", Quantity::bytes, power(kKibi, 6)},
    Unit{"kB", Quantity::bytes, power(kKilo, 1)},
    Unit{"KB", Quantity::bytes, power(kKilo, 1)},
    Unit{"MB", Quantity::bytes, power(kKilo, 2)},
    Unit{"GB", Quantity::bytes, power(kKilo, 3)},
    Unit{"TB", Quantity::bytes, power(kKilo, 4)},
    Unit{"PB", Quantity::bytes, power(kKilo, 5)},
    Unit{"EB", Quantity::bytes, power(kKilo, 6)},
    Unit{"B/s", Quantity::rate, 1},
    Unit{"KiB/s", Quantity::rate, power(kKibi, 1)},
    Unit{"MiB/s", Quantity::rate, power(kKibi, 2)},
    Unit{"GiB/s", Quantity::rate, power(kKibi, 3)},
    Unit{"TiB/s", Quantity::rate, power(kKibi, 4)},
    Unit{"PiB/s", Quantity::rate, power(kKibi, 5)},
    Unit{"EiB/s", Quantity::rate, power(kKibi, 6)},
    Unit{"kB/s", Quantity::rate, power(kKilo, 1)},
    Unit{"KB/s", Quantity::rate, power(kKilo, 1)},
    Unit{"MB/s", Quantity::rate, power(kKilo, 2)},
    Unit{"GB/s", Quantity::rate, power(kKilo, 3)},
    Unit{"TB/s", Quantity::rate, power(kKilo, 4)},
    Unit{"PB/s", Quantity::rate, power(kKilo, 5)},
    Unit{"EB/s", Quantity::rate, power(kKilo, 6)},
    Unit{"MHz", Quantity::frequency, power(kKilo, 2)},
    Unit{"GHz", Quantity::frequency, power(kKilo, 3)},
    Unit{"mW", Quantity::power, 1 / kKilo},
    Unit{"W", Quantity::power, 1},
    Unit{"kW", Quantity::power, power(kKilo, 1)},
    Unit{"MW", Quantity::power, power(kKilo, 2)},
    Unit{"GW", Quantity::power, power(kKilo, 3)},
};

const Unit* find_unit(std::string_view name) {
  const auto it = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& unit) { return unit.name == name; });
  return it == kUnits.end() ? nullptr : &*it;
}

std::optional<double> number_of(const DeviceAttribute& attribute) {
  if (attribute.integer) return static_cast<double>(*attribute.integer);
  return attribute.number;
}

int order(double a, double b) { return a < b ? -1 : a > b ? 1 : 0; }

}  // namespace

bool is_unit(std::string_view name) { return find_unit(name) != nullptr; }

DeviceAttribute parse_attribute(std::string_view text) {
  DeviceAttribute found;
  const std::string_view trimmed = trim(text);
  if (trimmed == "true" || trimmed == "false") {
    found.flag = trimmed == "true";
    return found;
  }
  const auto number = parse_leading_number<double>(trimmed);
  const std::string_view unit = number ? trim(number->rest) : std::string_view();
  if (!number || !std::isfinite(number->value) || (!unit.empty() && !is_unit(unit))) {
    found.text = std::string(text);
    return found;
  }
  if (const auto whole = parse_number<std::int64_t>(trimmed.substr(0, trimmed.size() - number->rest.size())); whole)
    found.integer = whole;
  else
    found.number = number->value;
  found.unit = std::string(unit);
  return found;
}

std::string to_text(const DeviceAttribute& attribute) {
  if (attribute.flag) return *attribute.flag ? "true" : "false";
  if (attribute.text) return *attribute.text;
  std::string text;
  if (attribute.integer) text = std::to_string(*attribute.integer);
  if (attribute.number) text = fmt::format("{}", *attribute.number);
  return attribute.unit.empty() ? text : text + " " + attribute.unit;
}

std::optional<int> compare(const DeviceAttribute& a, const DeviceAttribute& b) {
  if (a.flag && b.flag) return order(*a.flag ? 1 : 0, *b.flag ? 1 : 0);
  if (a.text && b.text) return order(a.text->compare(*b.text), 0);
  const auto left = number_of(a), right = number_of(b);
  if (!left || !right) return std::nullopt;
  if (a.unit == b.unit) {
    if (a.integer && b.integer) return *a.integer < *b.integer ? -1 : *a.integer > *b.integer ? 1 : 0;
    return order(*left, *right);
  }
  const Unit *mine = find_unit(a.unit), *other = find_unit(b.unit);
  if (mine == nullptr || other == nullptr || mine->quantity != other->quantity) return std::nullopt;
  return order(*left * mine->factor, *right * other->factor);
}

}  // namespace underway::model
