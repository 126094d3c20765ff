#pragma once
/// @file
/// One agent with both roles and no cluster, as a process that the test may kill and start again.

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "harness/command.hpp"

namespace underway::harness {

class Machine {
 public:
  /// `disk` is the size of the file system that holds the state, as mount(8) takes it: "64m"; empty: the machine's own.
  explicit Machine(const std::string& disk = {});
  /// Stops its jobs, and ends whatever they left.
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  /// Starts an agent over the same state, with the configuration in <directory>/agent.hcl if that is there, and waits
  /// until the node is ready. `more` are flags of this start.
  void start(const std::vector<std::string>& more = {});
  /// SIGKILL; start() is the caller's.
  void kill_agent();
  int agent_pid() const { return agent_->pid(); }
  Command command(std::vector<std::string> arguments) const;
  Finished underway(std::vector<std::string> arguments) const { return run(command(std::move(arguments))); }
  /// Runs a job file and follows it.
  Finished run_job(const std::string& id, const std::string& text);
  std::string state() const { return directory_.path() + "/state"; }
  std::string log() const { return directory_.path() + "/agent.log"; }  ///< what its agents say
  const std::string& directory() const { return directory_.path(); }

 private:
  TemporaryDirectory directory_;
  std::optional<Background> agent_;
  std::set<std::string> jobs_;
};

}  // namespace underway::harness
