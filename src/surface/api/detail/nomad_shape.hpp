#pragma once
/// @file
/// How a described struct differs on Nomad's wire from its description.

#include <cstdint>
#include <string>
#include <vector>

#include "base/json/describe.hpp"

namespace underway::api::detail {

/// What is written of a member that has nothing in it: a list or a map without elements, an optional without a value,
/// "", 0, false, a struct that is as it was made.
enum class Empty : std::uint8_t {
  as_is,
  null,
  left_out,
  null_by_default,  ///< null when it has its default, whatever that is
  elsewhere,        ///< never written here: whoever assembles the body writes it
};

struct Shape {
  std::vector<Empty> members;  ///< one for each field of the structure
  /// Appends what Nomad's struct has and ours lacks, each with a comma before it.
  void (*more)(std::string& out, const void* value) = nullptr;
};

/// Null when the structure is ours alone.
const Shape* find_shape(const describe::Structure& structure);

}  // namespace underway::api::detail
