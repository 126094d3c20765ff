#pragma once
/// @file
/// The examples as the repository has them. A checkout that is used may have images and keys beside them, which are of
/// no concern to a test.

#include <string>

namespace underway::harness {

/// Copies `source`, by itself the examples of this checkout, to `to`, which is made. Capsule images and their keys
/// stay.
void copy_examples(const std::string& to, const std::string& source = "");

}  // namespace underway::harness
