#pragma once
/// @file
/// What a snapshot of an overlay costs: see Method.

#include "overlay/snapshot.hpp"

namespace underway::overlay {

/// How it would be taken of the overlay in `dir`, which needs not be open; nothing when there is none.
std::optional<Method> find_method(const std::string& dir);

}  // namespace underway::overlay
