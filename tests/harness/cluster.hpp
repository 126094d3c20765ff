#pragma once
/// @file
/// The example cluster under test: the program as built, a state directory and a copy of the examples of its own. Taken
/// down at the end, whatever happened, and then nothing may be left.

#include <set>

#include "harness/command.hpp"

namespace underway::harness {

class Cluster {
 public:
  /// Copies examples/ beside a fresh state directory; the cluster is the one in examples/`example`. The images that it
  /// has definitions of are built from this machine's packages, once, and lie beside the copied definitions. Starts
  /// nothing.
  explicit Cluster(const std::string& example = "slurm");
  /// Takes everything down; what is left then is a failure of the test.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  /// `underway ARGUMENTS…` against this state directory.
  Command command(std::vector<std::string> arguments, std::chrono::seconds limit = std::chrono::seconds(90)) const;
  Finished underway(std::vector<std::string> arguments, std::chrono::seconds limit = std::chrono::seconds(90)) const;
  /// Names of the nodes that were given that version of a job.
  std::set<std::string> nodes_of(const std::string& job, const std::string& version) const;
  /// A shell line on a host.
  Finished on(const std::string& host, const std::string& line,
              std::chrono::seconds limit = std::chrono::seconds(60)) const;
  /// Half of the silence after which a node is down and its capsules may start elsewhere: for tests that lose hosts.
  /// Before up().
  void lose_patience() const;
  /// Tells Slurm of so many processors on each compute host, whatever this machine has: for tests that run many jobs at
  /// once. Before up().
  void declare_processors(int count) const;
  /// `underway up`; its output is in the failure's text.
  void up(std::vector<std::string> more = {}) const;
  /// Takes everything down and tells what is left.
  std::vector<std::string> down() const;

  const std::string& state() const { return state_; }
  const std::string& name() const { return name_; }
  const std::string& examples() const { return examples_; }
  std::string slurm() const { return examples_ + "/slurm"; }
  std::string directory() const { return examples_ + "/" + example_; }  ///< what up() brings up

  /// Pids of our agents that serve this cluster: the server's, and those in its hosts.
  std::vector<int> agents() const;
  std::vector<int> server_agents() const;
  std::vector<int> keepers() const;
  /// Pid of the agent in a host. Throws when the host has none.
  int agent_of(const std::string& host) const;
  /// Ends the host's first process, and with it everything on the host. The server hears of it seconds later.
  void pull_the_plug(const std::string& host) const;
  /// A shell line on a host, without the help of agent and server: they may be dead.
  Finished enter(const std::string& host, const std::string& line,
                 std::chrono::seconds limit = std::chrono::seconds(60)) const;

 private:
  void build_images() const;

  TemporaryDirectory directory_;
  std::string example_, state_, examples_, program_, name_;
};

}  // namespace underway::harness
