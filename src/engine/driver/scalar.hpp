#pragma once
/// @file
/// The single values of a driver's `config`, as people write them in HCL.

#include <boost/json/value.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace underway::driver {

/// Holds a variable that the node has not replaced yet: it may become anything.
bool is_open(const boost::json::value& value);
/// Numbers and booleans count as text: HCL's authors write `args = ["-p", 6817]`.
std::optional<std::string> as_text(const boost::json::value& value);
/// Texts of digits count as numbers.
std::optional<std::int64_t> as_number(const boost::json::value& value);
/// The texts "true" and "false" count as what they say.
std::optional<bool> as_flag(const boost::json::value& value);

}  // namespace underway::driver
