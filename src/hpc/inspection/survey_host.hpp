#pragma once
/// @file
/// Looks at a machine, or at one host of several that share a kernel, or at the root directory of one that is off.
/// Nothing is changed and nothing is asked of the network. What the caller may not read is told in the survey's gaps.

#include <sys/types.h>

#include "base/clock.hpp"
#include "inspection/host_survey.hpp"

namespace underway::inspection {

struct HostPlace {
  /// One process of the host: the survey covers the processes of its network namespace, and the files are those that
  /// it sees. 0: this process.
  pid_t process = 0;
  /// Only these files, no processes: a backup, or a machine that is off.
  std::optional<std::string> root;
  /// How often the connections are looked at: a client of munge is connected for a millisecond.
  int samples = 1;
};

/// Errors: not_found (no such process or directory), denied. Blocks: yes (disk; about a second on a large machine).
HostSurvey survey_host(const HostPlace& place, TimePoint now);

}  // namespace underway::inspection
