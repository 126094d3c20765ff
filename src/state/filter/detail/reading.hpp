#pragma once
/// @file
/// What a selector leads to, whatever it is made of: described members, JSON, or the key and index of a loop.

#include <boost/json.hpp>

#include <functional>

#include "filter/detail/tree.hpp"

namespace underway::filter::detail {

/// A place in what is asked about. A described place knows its type even when nothing is there, so that a wrong
/// selector is noticed whether or not the row has what leads to it.
struct Place {
  enum class Kind : std::uint8_t { described, json, key, index };
  Kind kind = Kind::described;
  const describe::Type* type = nullptr;
  const void* value = nullptr;  ///< null: not there
  bool time = false;
  const boost::json::value* json = nullptr;  ///< null: not there
  std::string_view key;
  std::int64_t index = 0;
};

/// A place as one of few things.
struct Reading {
  enum class Is : std::uint8_t { absent, boolean, integer, duration, number, string, list, map, structure };
  Is is = Is::absent;
  bool boolean = false;
  std::int64_t integer = 0;
  double number = 0;
  std::string_view kept;  ///< text that somebody else holds
  std::string made;       ///< or text that nobody else does
  std::size_t size = 0;   ///< of a list or map

  std::string_view text() const { return made.empty() ? kept : made; }
};
using Is = Reading::Is;

Place place_of(const describe::Type& type, const void* value, bool time = false);
/// Without what wraps it: optionals, and JSON inside descriptions.
Place unwrapped(Place place);
Reading read(const Place& place);
/// "string", "list": as messages say it.
std::string_view name_of(Reading::Is is);

/// From `from` along the parts of `selector` from number `at` on. Throws Error(invalid) when there is no such thing.
Place follow(Place from, const Selector& selector, std::size_t at);
Place element(const Place& list, std::size_t index);
/// A place where nothing is when there is no such key.
Place member(const Place& map, const std::string& key);
/// Calls visit(key, place) in order of keys.
void each_member(const Place& map, const std::function<void(std::string_view, const Place&)>& visit);
bool has_key(const Place& map, const std::string& key);

}  // namespace underway::filter::detail
