#pragma once
/// @file
/// Names that templates give, as parts of a URL.

#include <string>
#include <string_view>

namespace underway::sources {

/// Each part between slashes encoded. Errors: invalid for one that would lead elsewhere: "..", an empty one, one with
/// control characters.
std::string url_path(std::string_view name);

}  // namespace underway::sources
