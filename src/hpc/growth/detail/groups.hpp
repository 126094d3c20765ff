#pragma once
/// @file
/// Hosts that Slurm jobs connect: who is on both sides of a job sleeps with it, and wakes with it. Read off Slurm's
/// queue each time, where a job that sleeps stands with its hosts, and one that was cancelled asleep does not: whoever
/// it held together is on its own again.

#include <map>
#include <string>
#include <vector>

#include "slurm/elastic/job_queue.hpp"

namespace underway::growth::detail {

class HostGroups {
 public:
  explicit HostGroups(const std::vector<slurm::QueuedJob>& queue);
  /// Those that go with the host, itself among them, in the order of their names.
  std::vector<std::string> of(const std::string& host) const;

 private:
  std::string root_of(const std::string& host) const;
  void connect(const std::string& one, const std::string& other);

  std::map<std::string, std::string> parent_;                ///< of hosts that have jobs; a root is its own
  std::map<std::string, std::vector<std::string>> members_;  ///< by root
};

}  // namespace underway::growth::detail
