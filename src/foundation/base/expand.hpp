#pragma once
/// @file
/// `${name}` inside a text, as job files have it at run time.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace underway {

/// Replaces each `${name}` that `find` knows. Unknown ones stay as they are: shells use the same signs.
std::string expand(std::string_view text, const std::function<std::optional<std::string>(std::string_view name)>& find);

}  // namespace underway
