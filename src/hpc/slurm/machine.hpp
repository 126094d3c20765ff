#pragma once
/// @file
/// What Slurm finds on this machine: what local hosts declare to it, as they share the machine.

#include <cstdint>
#include <optional>
#include <string>

#include "slurm/version.hpp"

namespace underway::slurm {

struct Machine {
  std::int64_t sockets = 1, cores_per_socket = 1, threads_per_core = 1;
  /// MiB, rounded down to hundreds: a node that has less than it declares is drained (slurm.conf(5), RealMemory), and
  /// another kernel keeps some MiB more or less to itself.
  std::int64_t memory_mb = 0;
  /// By what Slurm can hold jobs to what they asked for: "v1" or "v2", the name of its cgroup plugin; "none" where the
  /// controllers that it needs are not there.
  std::string cgroup = "none";
  std::optional<Version> slurm = {};  ///< the release that is installed; read_machine() does not look for it

  std::int64_t cpus() const { return sockets * cores_per_socket * threads_per_core; }
};

/// As `slurmd -C` has it. Cores of unequal kinds are counted as one socket of single threads, as only the number of
/// processors counts then. `root` is put before every path (tests). Blocks: yes (reads a few files a processor).
Machine read_machine(const std::string& root = "");

}  // namespace underway::slurm
