#pragma once
/// @file
/// Whether it helps to go on waiting for a cluster: one service that cannot come back must not hold up whoever brings
/// up the others. Pure: whoever follows a status gives the time.

#include <map>
#include <set>

#include "async/loop.hpp"
#include "wire/cluster/status.hpp"

namespace underway::cli {

class Standstill {
 public:
  /// What needs somebody and has not been told: once it has stood for some seconds, as much passes while things start.
  /// It is told again when its cause is another, not for how often or for how long it has been so.
  std::vector<wire::Attention> untold(const wire::Status& status, async::SteadyTime now);

  /// The services that are missing, once all that can be up is up: hosts are there, nothing has moved for longer than
  /// a task waits before it is started again, and each of the missing ones has a reason that needs somebody, or
  /// depends on one that has. Else nothing.
  std::vector<std::string> find_missing_for_good(const wire::Status& status, async::SteadyTime now);

 private:
  std::map<std::string, async::SteadyTime> seen_;  ///< causes of attention, since when
  std::set<std::string> told_;                     ///< causes
  std::string last_;                               ///< all that moves, in words
  async::SteadyTime moved_{};
};

}  // namespace underway::cli
