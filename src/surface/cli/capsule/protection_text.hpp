#pragma once
/// @file
/// How what capsules keep is protected, told before anything is changed.

#include "model/capsule/protection.hpp"

namespace underway::cli {

/// A few lines for each; empty: there is none.
std::string protection_text(const std::vector<model::Protection>& protections);

}  // namespace underway::cli
