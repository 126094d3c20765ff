#pragma once
/// @file
/// Linux capabilities as a bit mask, by their names without "CAP_" (capabilities(7)).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::os {

using Capabilities = std::uint64_t;

/// The bit of a capability; name in any case, with or without "CAP_". "all" is every capability that we know.
std::optional<Capabilities> find_capability(std::string_view name);
/// Names, lower case, in the kernel's order.
std::vector<std::string> capability_names(Capabilities set);
const std::vector<std::string>& all_capability_names();

}  // namespace underway::os
