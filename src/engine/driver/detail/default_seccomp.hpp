#pragma once
/// @file
/// The default profile as data; what it means is in seccomp.cpp.

#include <span>
#include <string_view>

namespace underway::driver::detail {

/// System calls that a task may make once it has the capability, and is told EPERM about otherwise.
struct CallsOfCapability {
  std::string_view capability;
  std::string_view calls;  ///< separated by blanks
};

std::span<const std::string_view> allowed_calls();
std::span<const std::string_view> denied_calls();
std::span<const CallsOfCapability> calls_of_capabilities();

}  // namespace underway::driver::detail
