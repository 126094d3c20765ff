#pragma once
/// @file
/// A small cluster of real Slurm 20.11, and of 22.05 what it can be upgraded to: slurmdbd with its database in one
/// capsule, slurmctld in another, slurmd as a job from /opt/slurm/RELEASE. 20.11 is that of Debian 11, whose root
/// packaging/slurm-roots makes; 22.05 is this machine's.

#include "harness/farm.hpp"

namespace underway::harness {

class SlurmReleases {
 public:
  /// Why it cannot be brought up on this machine; empty: it can.
  static std::string missing();
  /// Brings everything up on 20.11. Throws what does not work.
  SlurmReleases();
  SlurmReleases(const SlurmReleases&) = delete;
  SlurmReleases& operator=(const SlurmReleases&) = delete;

  const Cluster& cluster() const { return cluster_; }

  /// What the cluster's directory asks for.
  struct Releases {
    std::string accounting = "20.11", controller = "20.11", slurmd = "20.11";
  };
  void declare(const Releases& releases) const;

  /// A shell line on login, with the commands of a release, by itself 20.11.
  Finished on_login(const std::string& line, std::chrono::seconds limit = std::chrono::seconds(60)) const;
  void use_clients(const std::string& release) { clients_ = release; }
  Farm::Options farm_options() const;
  /// A job on both nodes, whose step writes ticks until share("release"); from share("steps") on it starts more steps.
  void start_steps();
  std::string problems_of_steps() const;  ///< empty: none
  /// A job of a second, which has completed by then. Returns its id.
  std::string submit_and_wait() const;
  std::string accounted(const std::string& job) const;  ///< its state, as sacct has it

  /// A script for rehearsals: the sums of the accounting are what write_sums() found.
  std::string sums() const { return cluster_.directory() + "/sums.sh"; }
  void write_sums() const;

  /// Has slurmctld write all its state. By itself it does so after five minutes (PERIODIC_CHECKPOINT in its
  /// controller.c) and at its end; without what it keeps books of (last_tres) it starts only where the accounting
  /// answers, as none does to a clone.
  void save_controller() const;

  std::string running_accounting() const;  ///< "20.11", as its capsule has it
  std::string running_controller() const;
  std::string running() const;                          ///< of both, and of what slurmctld knows of the nodes
  bool nodes_run(const std::string& version) const;     ///< as slurmctld has heard
  bool nodes_tell(const std::string& what) const;       ///< in an attribute, each
  std::string phase(const std::string& capsule) const;  ///< of its upgrade under way
  std::string log() const;                              ///< for people

  /// A file that all hosts and capsules see in /home.
  void share(const std::string& name) const;
  void unshare(const std::string& name) const;

 private:
  void begin() const;
  void bring_images() const;
  void bring_releases() const;
  Finished inside(const std::string& capsule, const std::string& line) const;

  Cluster cluster_{"slurm"};
  std::string clients_ = "20.11", steps_;
};

}  // namespace underway::harness
