#pragma once
/// @file
/// A server and a node as processes of their own, in a network of their own, each over a file system of its own: for
/// what a machine may do to one of them and not to the other.

#include <gtest/gtest.h>

#include <optional>

#include "harness/command.hpp"

namespace underway::harness {

class TwoAgents {
 public:
  /// Makes network and file systems; nothing runs yet.
  TwoAgents();
  /// Stops both, and clears away what a task may have left.
  ~TwoAgents();
  TwoAgents(const TwoAgents&) = delete;
  TwoAgents& operator=(const TwoAgents&) = delete;

  /// Both run, and the node is ready. `server` and `client` are more lines of these blocks.
  void start(const std::string& server = {}, const std::string& client = {});
  const Background& server() const { return *server_; }
  const Background& node() const { return *node_; }
  /// What comes before a command line, so that it runs in their network.
  std::vector<std::string> in_network() const;

  Finished underway(std::vector<std::string> arguments, std::chrono::seconds limit = std::chrono::seconds(60)) const;
  /// A job of one raw_exec task that sleeps, registered and followed.
  Finished run_sleeper(const std::string& id) const;
  /// Pid of the process that the job's task is; empty: there is none.
  std::string pid_of_task(const std::string& id) const;

  std::string log(const std::string& agent) const { return read_text(file(agent + ".log")); }
  std::string file(const std::string& name) const { return directory_.path() + "/" + name; }

 private:
  Command agent(const std::string& name) const;

  TemporaryDirectory directory_;
  Background network_;
  std::optional<Background> server_, node_;
};

}  // namespace underway::harness
