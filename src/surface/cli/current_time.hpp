#pragma once
/// @file
/// The time for commands, which run once and end. What lives longer is given a clock.

#include "base/clock.hpp"

namespace underway::cli {

/// By the machine's clock.
inline TimePoint current_time() { return SystemClock().now(); }

}  // namespace underway::cli
