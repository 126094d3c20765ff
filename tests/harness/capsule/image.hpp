#pragma once
/// @file
/// A container image for tests, made of this machine's busybox.

#include "harness/command.hpp"

namespace underway::harness {

/// Makes <directory>/image, an OCI layout with the reference "v1": a few of busybox's tools, and the user "web".
Finished make_image(const std::string& directory);

}  // namespace underway::harness
