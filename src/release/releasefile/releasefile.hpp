#pragma once
/// @file
/// `releases.hcl`, read and checked.

#include <string>
#include <string_view>

#include "hcl/context.hpp"
#include "hcl/diagnostic.hpp"
#include "releasefile/releases.hpp"

namespace underway::releasefile {

constexpr std::string_view kReleasesFile = "releases.hcl";

/// `name` is what errors call the file. Everything that is wrong with it is in `diagnostics`, each at its place; then
/// what is returned is of no use.
Releases parse_releases(std::string_view text, const std::string& name, const hcl::Context& context,
                        hcl::Diagnostics& diagnostics);

}  // namespace underway::releasefile
