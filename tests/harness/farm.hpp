#pragma once
/// @file
/// A farm of Slurm jobs that write a checksummed tick to their node's disk ten times a second. Whatever is done to the
/// cluster meanwhile, at the end no tick is missing, no job was started twice, and sacct says what happened.

#include <gtest/gtest.h>

#include <functional>

#include "harness/cluster.hpp"
#include "harness/farm_records.hpp"

namespace underway::harness {

/// What the farm saw. `problems` is empty when no job noticed anything.
struct Harvest {
  std::vector<std::string> problems;
  std::size_t jobs = 0;
  long long ticks = 0;
  double longest_gap = 0;  ///< seconds between two ticks of a job
};

class Farm {
 public:
  struct Options {
    std::string name = "farm";  ///< of its Slurm jobs; of its own in each farm of a cluster
    std::string submit_host = "login";
    std::vector<std::string> nodes = {"c1", "c2", "c3", "c4"};
    std::string partition;  ///< empty: the default one
    bool spread = false;    ///< the same number on each of `nodes`, not where Slurm likes it
    double gap = 10;        ///< seconds that a job may stand still; the machine is shared
    /// How commands are run on hosts; empty: `underway host exec`, which needs the server.
    std::function<Finished(const std::string& host, const std::string& line, std::chrono::seconds limit)> on;
    /// When the controller last wrote its jobs to disk, in seconds since the epoch; empty: as in examples/slurm.
    std::function<long long()> saved;
  };

  /// `cluster` must outlive it. Starts nothing.
  explicit Farm(const Cluster& cluster) : Farm(cluster, Options{}) {}
  Farm(const Cluster& cluster, Options options);

  /// Submits `count` jobs; each runs until release(), or for `lasting`. Every third ends with an exit code of its own.
  /// A submission that the client sees fail is counted, and is none of the farm's. Returns how many were acknowledged.
  int plant(int count, std::chrono::seconds lasting = std::chrono::seconds(0));
  /// True once every job that was planted runs (or has ended) and the controller has that on disk: what it has not
  /// saved yet dies with it (up to 5 s, state_save.c of Slurm).
  testing::AssertionResult settled(std::chrono::seconds limit = std::chrono::seconds(60)) const;
  /// Tells all jobs to end.
  void release() const;
  /// release(), waits until the accounting knows the end of each, and compares.
  Harvest harvest(std::chrono::seconds limit = std::chrono::seconds(180)) const;

  const std::vector<PlantedJob>& planted() const { return planted_; }

 private:
  std::vector<AccountingRow> accounting() const;
  std::string directory() const { return "/var/tmp/" + options_.name; }

  Options options_;
  std::vector<PlantedJob> planted_;
  int unanswered_ = 0;
};

}  // namespace underway::harness
