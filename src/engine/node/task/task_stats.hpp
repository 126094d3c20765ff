#pragma once
/// @file
/// What tasks use: by task, and in the form of Nomad's AllocResourceUsage.

#include <map>

#include "node/runtime.hpp"

namespace underway::node {

/// What a task has used, and how fast it computed between two samples: percent of one core.
struct TaskSample {
  TaskUsage used;
  double percent = 0, user = 0, system = 0;
};

/// The last sample of each task, so that the next can tell a rate. Without one, the rate since the task's start.
class UsageSamples {
 public:
  TaskSample sample(const std::string& allocation_id, const std::string& task, RunningTask& running, TimePoint now);
  /// `tasks`: those that run. Percent of one core; ticks are MHz of `core_mhz`.
  boost::json::value usage(const std::string& allocation_id,
                           const std::map<std::string, std::shared_ptr<RunningTask>>& tasks, std::int64_t core_mhz,
                           TimePoint now);
  void forget(const std::string& allocation_id) { last_.erase(allocation_id); }
  template <class Known>
  void keep(Known is_known) {
    std::erase_if(last_, [&](const auto& entry) { return !is_known(entry.first); });
  }

 private:
  struct Last {
    TimePoint when{};
    Duration cpu_time{}, cpu_user{}, cpu_system{};
  };
  std::map<std::string, std::map<std::string, Last>> last_;
};

}  // namespace underway::node
