#pragma once
/// @file
/// Services in the order in which they start, as a tree: each stands below the dependency that lets it start last.

#include "wire/cluster/status.hpp"

namespace underway::cli {

struct Branch {
  const wire::ServiceStatus* service = nullptr;
  std::string lines;  ///< drawn before its name: "│ └ "
};

/// Every service once. One that depends on several stands below the one with the longest way to the root.
std::vector<Branch> draw_order(const std::vector<wire::ServiceStatus>& services);

}  // namespace underway::cli
