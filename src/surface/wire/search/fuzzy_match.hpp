#pragma once
/// @file
/// What a fuzzy search finds.

#include "base/json/describe.hpp"

namespace underway::wire {

/// Where something was found: of a task, the namespace, the job, and the group that it is in.
struct FuzzyMatch {
  std::string id;
  std::vector<std::string> scope;
};

const describe::Structure& description(describe::Tag<FuzzyMatch>);

}  // namespace underway::wire
