#pragma once
/// @file
/// The division as one page: a picture of who opens what, and each service with its verdict and its evidence. The page
/// is complete in itself: no script, nothing loaded from anywhere, and whatever was seen on the wire is escaped.

#include <string>

#include "adoption/division/division.hpp"

namespace underway::adoption {

std::string division_html(const Division& division);

/// Text for HTML and SVG, between tags and within quotes; control characters are replaced.
std::string escape_html(std::string_view text);

}  // namespace underway::adoption
