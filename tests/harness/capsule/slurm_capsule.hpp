#pragma once
/// @file
/// A small cluster whose Slurm controller is a capsule: the one of examples/decoupled with munge, the accounting and
/// its database, on infra1 or infra2; Slurm jobs are submitted on login and run on c1 and c2.

#include <atomic>
#include <thread>

#include "harness/capsule/capsule.hpp"
#include "harness/farm.hpp"

namespace underway::harness {

class SlurmCapsule : public Capsule {
 public:
  /// Brings everything up. `settings` are further lines of slurm.conf; from `nodes` 3 on there are c3, … beside those
  /// that jobs are planted on. Throws what does not work.
  explicit SlurmCapsule(const std::string& settings = "", int nodes = 2);

  /// A farm's jobs on c1 and c2; needs neither server nor agents.
  Farm::Options farm_options() const;
  /// A shell line on login, without server and agents.
  Finished on_login(const std::string& line, std::chrono::seconds limit = std::chrono::seconds(60)) const {
    return cluster().enter("login", line, limit);
  }
  /// A job that is submitted now runs, and ends well. Slurm may close the connection of whoever asks while it is
  /// reconfigured, as at the end of a hold: then, and only then, the job is submitted again.
  bool schedules(std::chrono::seconds limit = std::chrono::seconds(60)) const;
  /// Pids of slurmctld on a host, as the machine numbers them.
  std::vector<int> controllers(const std::string& host) const { return on_host(host, "slurmctld"); }
  /// When it last wrote its jobs to disk, in seconds since the epoch; 0: it does not run.
  long long saved_at() const;

  /// Builds its image once more, as another version, and returns the file.
  std::string build_version(const std::string& version) const;

 private:
  std::string image() const { return images() + "slurm-services.capsule"; }
  std::string images() const { return cluster().directory() + "/images/"; }
  void declare(const std::string& settings, int nodes) const;
};

/// Looks all the time whether two controllers live at once.
class OnlyOneController {
 public:
  explicit OnlyOneController(const SlurmCapsule& capsule);
  /// Whether there were ever two.
  bool broken() const { return broken_; }

 private:
  std::atomic<bool> broken_ = false;
  std::jthread watcher_;
};

}  // namespace underway::harness
