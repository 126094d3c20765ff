#pragma once
/// @file
/// Numbers from text: digits alone, with no blank and no '+' before them, and a '-' only where the type has a sign.

#include <charconv>
#include <concepts>
#include <optional>
#include <string_view>

namespace underway {

template <class T>
struct LeadingNumber {
  T value{};
  std::string_view rest;  ///< what stands behind it
};

/// What `text` begins with. Nothing: there is no digit, or too many of them for T.
template <class T>
std::optional<LeadingNumber<T>> parse_leading_number(std::string_view text, int base = 10) {
  LeadingNumber<T> out;
  const char* const begin = text.data();
  std::from_chars_result read{};
  if constexpr (std::floating_point<T>)
    read = std::from_chars(begin, begin + text.size(), out.value);
  else
    read = std::from_chars(begin, begin + text.size(), out.value, base);
  if (read.ec != std::errc{}) return std::nullopt;
  out.rest = text.substr(static_cast<std::size_t>(read.ptr - begin));
  return out;
}

/// The same where one has to do with what there is.
template <class T>
T leading_number_or(std::string_view text, T otherwise, int base = 10) {
  const auto number = parse_leading_number<T>(text, base);
  return number ? number->value : otherwise;
}

/// `text` as a whole, or nothing.
template <class T>
std::optional<T> parse_number(std::string_view text, int base = 10) {
  const auto number = parse_leading_number<T>(text, base);
  return number && number->rest.empty() ? std::optional(number->value) : std::nullopt;
}

}  // namespace underway
