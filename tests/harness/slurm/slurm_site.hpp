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

/// Munge, MariaDB, slurmdbd, slurmctld and slurmds of one release, as harness/slurm-site starts them, on a machine of
/// their own. They end with it.
class SlurmSite {
 public:
  /// Throws std::runtime_error, with what the daemons said, when it does not come up.
  explicit SlurmSite(const SlurmRelease& release);

  /// As root, beside the daemons.
  Finished run(std::vector<std::string> argv) const;
  /// A shell line there.
  Finished shell(const std::string& line) const;
  /// The id of a job that `sbatch` took with these words.
  std::string submit(const std::string& words) const;

 private:
  TemporaryDirectory directory_;
  std::unique_ptr<Background> process_;
  std::string init_;  ///< pid of the first process
};

}  // namespace underway::harness
