#pragma once
/// @file
/// The order of versions, as dpkg and rpm have it.

#include <cstdint>
#include <string_view>

#include "package/package.hpp"

namespace underway::package {

/// Below 0, 0 or above 0, as `a` is older than, the same as or newer than `b`. Any text has its place in the order, so
/// that what is sorted by it stays sorted; "1.0" and "1.00" are the same. Without an epoch it is 0.
/// Source: Debian policy 5.6.12; rpm-version(7) with `~` and `^`, the release behind the last '-' (none is the oldest).
int compare_versions(Format format, std::string_view a, std::string_view b);

/// How a version is compared in relations and queries; `any` is no condition.
enum class Comparison : std::uint8_t { any, less, less_equal, equal, greater_equal, greater };
/// "", "<<", "<=", "=", ">=", ">>".
std::string_view to_string(Comparison comparison);

/// Whether `version` is what is asked for. Of rpm packages the release does not count where `wanted` has none, as
/// in `Requires: a = 1.0`.
bool satisfies(Format format, std::string_view version, Comparison comparison, std::string_view wanted);

}  // namespace underway::package
