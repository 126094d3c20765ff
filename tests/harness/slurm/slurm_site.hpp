#pragma once
/// @file
/// Real Slurm of several releases, each below a root of the Debian release that brought it: 22.05 is this machine's,
/// the others lie in build/roots (packaging/slurm-roots).

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "harness/command.hpp"

namespace underway::harness {

struct SlurmRelease {
  std::string version;  ///< "22.05"
  std::string root;     ///< below which its daemons are
  std::string cgroup;   ///< its cgroup.conf where there is no hierarchy to find: the key came with 22.05
  friend std::ostream& operator<<(std::ostream& out, const SlurmRelease& release) { return out << release.version; }
};
std::vector<SlurmRelease> slurm_releases();

/// Daemons of one release on a machine of their own, which ends with it, and with the thread that made it when the test
/// is killed. What they write is in memory that is theirs alone.
class SlurmMachine {
 public:
  /// As root, beside the daemons.
  Finished run(std::vector<std::string> argv) const;
  /// A shell line there.
  Finished shell(const std::string& line) const;
  /// The id of a job that `sbatch` took with these words.
  std::string submit(const std::string& words) const;

 protected:
  /// `script`, one of this directory, is told the release's root, and `words`. Throws
  /// std::runtime_error, with what the daemons said, when it does not come up.
  SlurmMachine(const SlurmRelease& release, const std::string& script, const std::vector<std::string>& words);

 private:
  std::unique_ptr<Background> process_;
  std::string init_;  ///< pid of the first process
};

/// Munge, MariaDB, slurmdbd, slurmctld, and slurmds of nodes that are always there, as slurm-site starts them.
class SlurmSite : public SlurmMachine {
 public:
  explicit SlurmSite(const SlurmRelease& release) : SlurmMachine(release, "slurm-site", {release.cgroup}) {}
};

/// Munge and slurmctld, and nodes that come and go, each a host of its own with a network, as slurm-pool has
/// them. `conf` is added to what stands in every slurm.conf of it (base_conf()).
class SlurmPool : public SlurmMachine {
 public:
  SlurmPool(const SlurmRelease& release, const std::string& conf, const std::string& topology = "")
      : SlurmMachine(release, "slurm-pool", {base_conf() + conf, release.cgroup, topology}) {}

  static std::string base_conf();
  /// A machine boots at `address`, of 10.9.0.0/16, and runs slurmd with these words. Returns before slurmd has begun.
  void boot(const std::string& name, const std::string& address, std::vector<std::string> slurmd_words) const;
  /// Its power is cut.
  void cut(const std::string& name) const;
};

}  // namespace underway::harness
