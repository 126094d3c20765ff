#pragma once
/// @file
/// A policy in a file of its own, for the simulator: HCL with the contents of an `elastic` block, or that block itself;
/// or the same as JSON.

#include "elastic/policy.hpp"
#include "hcl/diagnostic.hpp"

namespace underway::elastic {

/// HCL, or JSON with the names of HCL when it begins with '{'. What is wrong goes into `diagnostics`, all of it; what
/// could be read is returned nevertheless.
Policy parse_policy(std::string_view text, const std::string& name, hcl::Diagnostics& diagnostics);

}  // namespace underway::elastic
