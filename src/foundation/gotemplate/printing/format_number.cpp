#include "gotemplate/printing/format_number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

namespace underway::gotemplate {

namespace {

std::string convert(double value, std::chars_format format, int precision) {
  // %f of the largest double has 309 digits before the point.
  std::vector<char> buffer(static_cast<std::size_t>(std::max(precision, 20)) + 400);
  const auto [end, error] = precision < 0
                                ? std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format)
                                : std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, format, precision);
  return {buffer.data(), end};
}

/// Go and C agree on two digits of exponent for %e; %x has as many in Go only.
std::string hexadecimal(double value, int precision) {
  const bool tiny = std::fpclassify(value) == FP_SUBNORMAL;
  int power = 1;
  // C leaves the leading digit of the smallest numbers 0; Go does not.
  const double size = tiny ? std::frexp(std::fabs(value), &power) * 2 : std::fabs(value);
  std::string text = convert(size, std::chars_format::hex, precision);
  std::size_t p = text.find('p');
  if (tiny) {
    text = text.substr(0, p) + fmt::format("p{:+}", std::atoi(text.c_str() + p + 1) + power - 1);
    p = text.find('p');
  }
  if (text[0] == '2') {
    // C rounds 1.f up to 2; Go goes on to the next power.
    text = "1" + text.substr(1, p - 1) + fmt::format("p{:+}", std::atoi(text.c_str() + p + 1) + 1);
    p = text.find('p');
  }
  if (text.size() - p == 3) text.insert(p + 2, "0");
  return (std::signbit(value) ? "-0x" : "0x") + text;
}

int exponent_of(const std::string& scientific) { return std::atoi(scientific.c_str() + scientific.find('e') + 1); }

std::string without_trailing_zeros(std::string text) {
  const std::size_t e = text.find('e');
  std::string exponent = e == std::string::npos ? "" : text.substr(e);
  std::string digits = text.substr(0, e);
  if (digits.find('.') != std::string::npos) {
    digits.erase(digits.find_last_not_of('0') + 1);
    if (digits.ends_with('.')) digits.pop_back();
  }
  return digits + exponent;
}

int digits_of(const std::string& scientific) {
  return static_cast<int>(std::count_if(scientific.begin(),
                                        scientific.begin() + static_cast<long>(scientific.find('e')),
                                        [](unsigned char c) { return std::isdigit(c); }));
}

/// %g: %e for exponents below -4 and from the precision on; the shortest form decides as if the precision were 6.
std::string general(double value, int precision, bool sharp) {
  const int threshold = precision < 0 ? 6 : std::max(precision, 1);
  std::string scientific = convert(value, std::chars_format::scientific, precision < 0 ? -1 : threshold - 1);
  const int exponent = exponent_of(scientific);
  int digits = precision < 0 ? -1 : threshold;
  if (sharp && precision < 0) {
    digits = std::max(6, digits_of(scientific));
    // Zeros follow the shortest digits; the smallest numbers have no more.
    const auto missing = static_cast<std::size_t>(digits - digits_of(scientific));
    const std::size_t e = scientific.find('e');
    if (missing > 0) scientific.insert(e, (scientific.find('.') < e ? "" : ".") + std::string(missing, '0'));
  }
  std::string text = scientific;
  if (exponent >= -4 && exponent < threshold)
    text = convert(value, std::chars_format::fixed, digits < 0 ? -1 : std::max(digits - 1 - exponent, 0));
  if (!sharp) return without_trailing_zeros(std::move(text));
  if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".");
  return text;
}

/// A large number by the digits that tell it, and zeros; C writes all digits that it has.
std::string shortest_whole(double value) {
  const std::string scientific = convert(value, std::chars_format::scientific, -1);
  const int exponent = exponent_of(scientific);
  std::string digits = scientific.substr(0, scientific.find('e'));
  std::erase(digits, '.');
  const std::size_t size = static_cast<std::size_t>(exponent) + 1 + (digits.starts_with('-') ? 1 : 0);
  digits.resize(std::max(digits.size(), size), '0');
  return digits;
}

}  // namespace

std::string format_natural(std::uint64_t value, unsigned base) {
  char buffer[64];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value, static_cast<int>(base));
  return {buffer, end};
}

std::string format_real(double value, char verb, int precision, bool sharp) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Inf" : "+Inf";
  const bool upper = verb == 'E' || verb == 'G' || verb == 'X';
  std::string text;
  switch (verb) {
    case 'e':
    case 'E':
      text = convert(value, std::chars_format::scientific, precision);
      break;
    case 'f':
    case 'F':
      text = precision < 0 && std::fabs(value) >= 1e16 ? shortest_whole(value)
                                                       : convert(value, std::chars_format::fixed, precision);
      break;
    case 'x':
    case 'X':
      text = hexadecimal(value, precision);
      break;
    default:
      text = general(value, precision, sharp);
  }
  if (sharp && (verb == 'e' || verb == 'E' || verb == 'f' || verb == 'F') && text.find('.') == std::string::npos)
    text.insert(std::min(text.find('e'), text.size()), ".");
  if (upper) std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

}  // namespace underway::gotemplate
