#include "driver/scalar.hpp"

#include "base/numbers.hpp"

#include <boost/json/serialize.hpp>

namespace underway::driver {

bool is_open(const boost::json::value& value) {
  return value.is_string() && value.as_string().find("${") != boost::json::string::npos;
}

std::optional<std::string> as_text(const boost::json::value& value) {
  if (value.is_string()) return std::string(value.as_string());
  if (value.is_number() || value.is_bool()) return boost::json::serialize(value);
  return std::nullopt;
}

std::optional<std::int64_t> as_number(const boost::json::value& value) {
  if (value.is_int64()) return value.as_int64();
  if (value.is_uint64() || value.is_double()) {
    boost::system::error_code failed;
    const auto number = value.to_number<std::int64_t>(failed);
    return failed ? std::nullopt : std::optional(number);
  }
  if (!value.is_string()) return std::nullopt;
  return parse_number<std::int64_t>(value.get_string());
}

std::optional<bool> as_flag(const boost::json::value& value) {
  if (value.is_bool()) return value.get_bool();
  if (!value.is_string()) return std::nullopt;
  if (value.get_string() == "true") return true;
  return value.get_string() == "false" ? std::optional(false) : std::nullopt;
}

}  // namespace underway::driver
