#pragma once
/// @file
/// `nomad deployment status` and `nomad eval status`, which `nomad status` is for such ids.

#include "cli/command.hpp"

namespace underway::nomad {

int deployment_status(const cli::Arguments& arguments);
int eval_status(const cli::Arguments& arguments);

}  // namespace underway::nomad
