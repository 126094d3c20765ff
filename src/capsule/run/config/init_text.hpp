#pragma once
/// @file
/// What the capsule's init reads (init/spec.hpp).

#include <optional>
#include <string>

#include "run/config/config.hpp"

namespace underway::run {

/// `sync`: services are held until what they save is on the standby; the capabilities are those that init has only for
/// that. Errors: too_large (more services or words than init takes).
std::string encode_init_spec(const Program& program, std::int64_t attempts,
                             std::optional<os::Capabilities> sync = std::nullopt);

}  // namespace underway::run
