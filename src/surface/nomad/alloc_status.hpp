#pragma once
/// @file
/// `nomad alloc status`, which `nomad status` is for allocations.

#include "cli/command.hpp"

namespace underway::nomad {

int alloc_status(const cli::Arguments& arguments);

}  // namespace underway::nomad
