#include "growth/detail/groups.hpp"

#include <algorithm>

namespace underway::growth::detail {

HostGroups::HostGroups(const std::vector<slurm::QueuedJob>& queue) {
  // The parts of a heterogeneous job, "17+0" and "17+1", speak to each other, too, and Slurm suspends all or none.
  std::map<std::string, std::string> first_of;
  for (const auto& job : queue) {
    const auto plus = job.id.find('+');
    if (job.nodes.empty() || (job.nodes.size() == 1 && plus == std::string::npos)) continue;
    const auto whole = job.id.substr(0, plus);
    const auto& first = first_of.emplace(whole, job.nodes.front()).first->second;
    for (const auto& node : job.nodes) connect(first, node);
  }
  for (const auto& [host, parent] : parent_) members_[root_of(host)].push_back(host);
}

std::string HostGroups::root_of(const std::string& host) const {
  auto root = host;
  for (auto at = parent_.find(root); at != parent_.end() && at->second != root; at = parent_.find(root))
    root = at->second;
  return root;
}

void HostGroups::connect(const std::string& one, const std::string& other) {
  parent_.emplace(one, one);
  parent_.emplace(other, other);
  const auto first = root_of(one), second = root_of(other);
  if (first == second) return;
  // Shorter ways for those who ask next: a job of thousands of hosts would else be a chain of as many.
  parent_[second] = parent_[other] = first;
}

std::vector<std::string> HostGroups::of(const std::string& host) const {
  const auto at = members_.find(root_of(host));
  return at == members_.end() ? std::vector<std::string>{host} : at->second;
}

}  // namespace underway::growth::detail
