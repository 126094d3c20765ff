#pragma once
/// @file
/// Writing a variable from words, for the programs that tell of it each in its own way.

#include "cli/command.hpp"
#include "model/access/variable.hpp"

namespace underway::cli {

/// What `var put` does with its arguments, without a word about it: what stands then. Throws conflict when it stands at
/// another index than was asked for.
model::OpenVariable put_variable(const Arguments& arguments);

}  // namespace underway::cli
