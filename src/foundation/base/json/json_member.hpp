#pragma once
/// @file
/// Members of JSON objects by the names that Go's encoding/json would take for them: those who write such objects by
/// hand were never told that they got the case wrong.

#include <boost/json/object.hpp>

#include <string>
#include <string_view>

namespace underway::json {

/// Whether Go decodes the key `key` into the field `name`, which is of ASCII letters: in any case, and with the two
/// letters beyond ASCII that fold to one of ASCII ("ſ" to s, the Kelvin sign to k).
/// Source: encoding/json, foldName (Go 1.21).
bool names_field(std::string_view key, std::string_view name);

/// The member that Go would decode into the field `name`; of several the last, which overwrites the others. Null when
/// there is none. For structs: the keys of maps are themselves.
const boost::json::value* find_member(const boost::json::object& object, std::string_view name);

/// The text of the member that is spelled `name`; empty when there is none, or when it is no text.
std::string text_at(const boost::json::object& object, std::string_view name);
/// The same of any value: what is no object has none.
std::string text_at(const boost::json::value& value, std::string_view name);
/// The text of the member that find_member finds.
std::string text_member(const boost::json::object& object, std::string_view name);
/// Whether that member is true.
bool flag_member(const boost::json::object& object, std::string_view name);
/// The object that the member spelled `name` is; an empty one when it is none.
const boost::json::object& object_at(const boost::json::object& object, std::string_view name);

}  // namespace underway::json
