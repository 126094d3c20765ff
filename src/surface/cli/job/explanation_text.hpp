#pragma once
/// @file
/// What `job explain` prints.

#include "wire/job/explanation.hpp"

namespace underway::cli {

/// `width` of the tables; 0: as wide as they get.
std::string explanation_text(const wire::Explanation& explanation, std::size_t width);

}  // namespace underway::cli
