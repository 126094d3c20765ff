#pragma once
/// @file
/// Services in the order in which they start, as a tree: each stands below the dependency that lets it start last.

#include "api/cluster/status.hpp"

namespace underway::cli {

struct Branch {
  const api::ServiceStatus* service = nullptr;
  std::string lines;  ///< drawn before its name: "│ └ "
};

/// Every service once. One that depends on several stands below the one with the longest way to the root.
std::vector<Branch> draw_order(const std::vector<api::ServiceStatus>& services);

}  // namespace underway::cli
