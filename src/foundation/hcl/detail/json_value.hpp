#pragma once
/// @file
/// JSON texts as values, whose numbers are what is written: a double would round 18446744073709551617.

#include "hcl/value.hpp"

#include <string_view>

namespace underway::hcl::detail {

/// Throws ArgumentError(0) when it is no JSON, Error(too_large) when it is nested too deeply.
Value read_json(std::string_view text);

}  // namespace underway::hcl::detail
