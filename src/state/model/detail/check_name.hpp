#pragma once
/// @file
/// What a check is called that has no name of its own, as Nomad calls it.

#include <fmt/format.h>

#include <string>

namespace underway::model::detail {

inline std::string default_check_name(const std::string& service) {
  return fmt::format("service: \"{}\" check", service);
}

}  // namespace underway::model::detail
