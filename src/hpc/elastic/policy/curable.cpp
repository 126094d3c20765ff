#include "elastic/policy/curable.hpp"

#include <array>

namespace underway::elastic {

bool capacity_cures(std::string_view reason) {
  if (reason.size() >= 2 && reason.front() == '(' && reason.back() == ')') reason = reason.substr(1, reason.size() - 2);
  constexpr std::array<std::string_view, 6> kCured = {"Resources",       "Priority", "None",
                                                      "PartitionConfig", "NodeDown", ""};
  for (const auto& known : kCured) {
    if (reason == known) return true;
  }
  if (reason.starts_with("Nodes required for job are DOWN")) return true;
  // The nodes that there are are in reservations, and those that we make are in none. Of the nodes that a job has asked
  // for by name (growth/detail/jobs.cpp) it is no reason to make others.
  if (reason == "ReqNodeNotAvail, May be reserved for other job") return true;
  // "ReqNodeNotAvail, UnavailableNodes:c[1-4]": the nodes that would do are down. What is reserved for maintenance is
  // that for a while, and the job may have asked for it.
  return reason.starts_with("ReqNodeNotAvail") && reason.find("eserved") == std::string_view::npos;
}

}  // namespace underway::elastic
