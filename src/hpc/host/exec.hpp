#pragma once
/// @file
/// A command inside a host, past its agent: for debugging when the agent is down.

#include <string>
#include <vector>

#include "host/provider.hpp"
#include "os/process/process.hpp"

namespace underway::host {

struct ExecSpec {
  std::vector<std::string> argv;
  /// Whole environment; empty: PATH, HOME, TERM and USER of root.
  std::vector<std::string> env;
  std::string cwd = "/";
  /// Empty: root. Looked up on the machine, whose users the hosts share.
  std::string user;
  /// -1 is /dev/null.
  int in = -1, out = -1, err = -1;
  /// `in` is a terminal's end that becomes the command's controlling terminal.
  bool terminal = false;
};

/// Starts it in all namespaces and the cgroup of the host. Errors: not_found (no such host, no such command),
/// unavailable (the host's pid 1 is gone).
os::Child exec_in_host(const HostInfo& host, const ExecSpec& spec);

}  // namespace underway::host
