#include "node/fingerprint/core_partition.hpp"

#include <set>

#include "node/fingerprint/topology.hpp"

namespace underway::node {

bool CorePartition::hold(const std::string& run, const std::vector<std::int64_t>& cores) {
  if (cores.empty()) return false;
  held_[run] = cores;
  return true;
}

bool CorePartition::let_go(const std::string& run) { return held_.erase(run) > 0; }

std::string CorePartition::shared() const {
  std::set<std::int64_t> left(all_.begin(), all_.end());
  for (const auto& [run, cores] : held_)
    for (const auto core : cores) left.erase(core);
  return to_text(left.empty() ? all_ : std::vector<std::int64_t>(left.begin(), left.end()));
}

}  // namespace underway::node
