#pragma once
/// @file
/// The names of enumerators as the program has them, so that nobody writes them a second time and a table of names
/// follows its enumeration. For enumerations that count from 0 without a gap.

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace underway {

namespace detail {

/// "underway::model::JobType::batch"; of a value without a name "(underway::model::JobType)7". As the compiler writes
/// the argument of a template.
template <auto Value>
consteval std::string_view written() {
  constexpr std::string_view kBefore = "Value = ";
  const std::string_view whole = __PRETTY_FUNCTION__;
  const std::size_t begin = whole.find(kBefore) + kBefore.size();
  return whole.substr(begin, whole.find_first_of("];", begin) - begin);
}

/// Empty: it has none.
template <auto Value>
consteval std::string_view name() {
  const std::string_view text = written<Value>();
  return text.starts_with('(') ? std::string_view() : text.substr(text.rfind(':') + 1);
}

template <class E, std::size_t Known = 0>
consteval std::size_t count() {
  if constexpr (name<static_cast<E>(Known)>().empty())
    return Known;
  else
    return count<E, Known + 1>();
}

template <class E, std::size_t... I>
consteval std::array<std::string_view, sizeof...(I)> names(std::index_sequence<I...>) {
  return {name<static_cast<E>(I)>()...};
}

}  // namespace detail

/// How many E has.
template <class E>
inline constexpr std::size_t kEnumerators = detail::count<E>();

template <class E>
inline constexpr std::array<std::string_view, kEnumerators<E>> kNamesOf =
    detail::names<E>(std::make_index_sequence<kEnumerators<E>>());

template <class E>
  requires std::is_enum_v<E>
constexpr std::string_view name_of(E value) {
  return kNamesOf<E>.at(static_cast<std::size_t>(value));
}

/// With '-' between words: "job-register".
template <class E>
const std::array<std::string, kEnumerators<E>>& dashed_names() {
  static const auto names = [] {
    std::array<std::string, kEnumerators<E>> out;
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i] = kNamesOf<E>[i];
      std::replace(out[i].begin(), out[i].end(), '_', '-');
    }
    return out;
  }();
  return names;
}

}  // namespace underway
