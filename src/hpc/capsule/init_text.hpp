#pragma once
/// @file
/// What the capsule's init reads (init/spec.hpp).

#include <string>

#include "capsule/config.hpp"

namespace underway::capsule {

/// Errors: too_large (more services or words than init takes).
std::string encode_init_spec(const Program& program, std::int64_t attempts);

}  // namespace underway::capsule
