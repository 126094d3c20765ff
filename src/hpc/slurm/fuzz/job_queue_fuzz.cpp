// Slurm's queue comes from a peer, and users write into it: it never harms, nor asks for more memory than its bounds,
// and whatever is read of a job is within what a decision may count on.
#include <cstddef>
#include <cstdint>

#include "slurm/elastic/job_queue.hpp"

namespace {

bool plausible(const underway::slurm::QueuedJob& job) {
  for (const auto& feature : job.features) {
    if (feature.empty() || feature.find_first_of("&,[]()* ") != std::string::npos) return false;
  }
  for (const auto& node : job.nodes) {
    if (node.empty()) return false;
  }
  return !job.id.empty() && !job.state.empty() && job.priority >= 0 && job.nodes_min >= 1 &&
         (job.nodes_max == 0 || job.nodes_max >= job.nodes_min) && job.cpus >= 1 && job.memory_mb >= 0 &&
         job.array_remaining >= 1 && job.array_limit >= 0 && job.nodes.size() <= underway::slurm::kMostNodesOfJob &&
         job.submitted >= underway::TimePoint{} && job.starts >= underway::TimePoint{} &&
         job.ends >= underway::TimePoint{} && job.time_limit >= underway::Duration{};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& job : underway::slurm::parse_queue(text)) {
    if (!plausible(job)) __builtin_trap();
  }
  return 0;
}
