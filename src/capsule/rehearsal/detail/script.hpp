#pragma once
/// @file
/// Programs in the clone, and what they said.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/driver.hpp"
#include "model/capsule/rehearsal.hpp"

namespace underway::rehearsal::detail {

/// The end of `text`, at most `limit` bytes, whole characters; what is no UTF-8 is replaced.
std::string tail_of(std::string_view text, std::size_t limit = 4096);

/// Runs a command beside the clone's services. `cancelled` is asked all the time.
model::RehearsalFinding run_inside(driver::TaskHandle& clone, const std::string& name,
                                   const std::vector<std::string>& command, Duration patience,
                                   const std::function<void()>& check_cancelled);

}  // namespace underway::rehearsal::detail
