#pragma once
/// @file
/// The flows as SVG: nodes on the left, the services in the middle (critical ones above), the outside on the right, an
/// arrow for each side that opens, as broad as there were bytes, and dependencies as arcs.

#include "adoption/division/division.hpp"

namespace underway::adoption {

std::string flow_picture(const Division& division);

}  // namespace underway::adoption
