#pragma once
/// @file
/// JSON of described structs. Durations are integers of nanoseconds (and are read from Go's "5s" too); times are RFC
/// 3339 (and are read from nanoseconds too); enumerations are their spelling; absent optionals are null. Decoding keeps
/// the default of a missing or null field, ignores unknown keys (older and newer peers talk to each other), and reports
/// the path of what is wrong: "Job.TaskGroups[1].Count". Limits: nesting 64 levels.

#include "base/json/describe.hpp"

namespace underway::json {

enum class Encoding {
  full,     ///< every field: the API
  compact,  ///< fields that have their default are left out: the store and the link
};

void append(std::string& out, const describe::Type& type, const void* value, Encoding encoding);
/// Throws Error(invalid) naming the path; `path` is the prefix of that path.
void decode(const boost::json::value& json, const describe::Type& type, void* value, const std::string& path);
/// Throws Error(invalid) with line and column when `text` is not JSON (RFC 8259, UTF-8).
boost::json::value parse(std::string_view text);
/// For people: one member a line, two blanks a level, no newline at the end.
std::string pretty(const boost::json::value& value);
/// Appends `text` quoted and escaped.
void append_string(std::string& out, std::string_view text);
/// The same as Go's encoding/json writes it: U+2028 and U+2029, which JavaScript takes for line ends, are escaped, and
/// so are '<', '>' and '&' unless `html` is false; what is no UTF-8 is U+FFFD.
void append_go_string(std::string& out, std::string_view text, bool html = true);

template <class T>
std::string encode(const T& value, Encoding encoding = Encoding::full) {
  std::string out;
  append(out, describe::kType<T>, &value, encoding);
  return out;
}
template <class T>
T decode(const boost::json::value& json, const std::string& path = {}) {
  T value{};
  decode(json, describe::kType<T>, &value, path);
  return value;
}
template <class T>
T decode_text(std::string_view text, const std::string& path = {}) {
  return decode<T>(parse(text), path);
}
/// A DOM of `value`, for payloads that are assembled from parts.
template <class T>
boost::json::value to_value(const T& value, Encoding encoding = Encoding::full) {
  return parse(encode(value, encoding));
}

/// Whether it is what Go's encoder writes of what was not given: null, false, 0, "", [] or {}.
bool is_empty(const boost::json::value& value);

}  // namespace underway::json
