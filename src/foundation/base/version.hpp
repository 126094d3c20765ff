#pragma once
/// @file
/// Version and build id of this binary.
#include <string_view>

namespace underway {
/// Semantic version, e.g. "0.1.0".
std::string_view version();
/// The commit the binary was configured from, 12 hexadecimal digits, or "unknown".
std::string_view build_id();
}  // namespace underway
