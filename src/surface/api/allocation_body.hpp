#pragma once
/// @file
/// An allocation as the API tells it.

#include "model/allocation.hpp"

namespace underway::api {

/// With the job it was placed for, and its networks, as Nomad has them.
std::string allocation_json(const model::Allocation& allocation);

}  // namespace underway::api
