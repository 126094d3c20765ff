#pragma once
/// @file
/// What tasks use, in the form of Nomad's AllocResourceUsage.

#include <map>

#include "node/runtime.hpp"

namespace underway::node {

/// The last sample of each task, so that the next can tell a rate. Without one, the rate since the task's start.
class UsageSamples {
 public:
  /// `tasks`: those that run. Percent of one core; ticks are MHz of `core_mhz`.
  boost::json::value usage(const std::string& allocation_id,
                           const std::map<std::string, std::shared_ptr<RunningTask>>& tasks, std::int64_t core_mhz,
                           TimePoint now);
  void forget(const std::string& allocation_id) { last_.erase(allocation_id); }

 private:
  struct Sample {
    TimePoint when{};
    Duration cpu_time{};
  };
  std::map<std::string, std::map<std::string, Sample>> last_;
};

}  // namespace underway::node
