#pragma once
/// @file
/// The processes of one network namespace, as /proc shows them.

#include "inspection/detail/root_view.hpp"
#include "inspection/host_survey.hpp"

#include <set>

namespace underway::inspection::detail {

struct Process {
  std::int64_t pid = 0;
  std::int64_t parent = 0;
  std::int64_t uid = -1;
  std::string executable;  ///< as it sees it; empty when it may not be read
  std::string name;
  std::string unit;
  std::vector<std::string> command;
  std::set<std::int64_t> sockets;   ///< inodes
  std::set<std::string> libraries;  ///< file names
  std::set<std::string> written_files;
};

/// All that share the network namespace of `process`, without kernel threads, by pid. What could not be read is
/// summed up in `gaps`. Blocks: yes.
std::vector<Process> processes_beside(pid_t process, std::vector<std::string>& gaps);

/// Names by number, from the text of /etc/passwd.
std::map<std::int64_t, std::string> users_of(std::string_view passwd);

}  // namespace underway::inspection::detail
