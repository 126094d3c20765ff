#pragma once
/// @file
/// Users who submit one Slurm job after the other, whatever is done to the cluster meanwhile. Each job writes an output
/// that is known in advance: at the end no submission has failed, no output has a byte more or less, no job ran twice.

#include <string>
#include <vector>

#include "harness/cluster.hpp"

namespace underway::harness {

/// One call of sbatch.
struct Submission {
  std::string name;  ///< of the job's files: "2.17" is the 17th of the second submitter
  int exit_code = 0;
  double began = 0, ended = 0;  ///< seconds since the epoch
  std::string id;               ///< of the job; empty when there is none
  std::string said;             ///< on stderr
};

class Submitters {
 public:
  /// On `host` of `cluster`, which outlives it, with their files in /home/`name`, which all hosts see.
  Submitters(const Cluster& cluster, std::string host, std::string name);
  ~Submitters();

  /// Has `count` of them submit until stop(), each with `pause` seconds between two.
  void start(int count, double pause);
  /// Waits until each has its last answer.
  void stop();
  /// How many submissions have an answer.
  std::size_t answered() const { return submissions().size(); }
  std::vector<Submission> submissions() const;

  /// All that is not as it should be, once the accounting knows the end of each job: submissions that failed, jobs that
  /// did not complete or ran more often than once, outputs that differ by a byte.
  std::vector<std::string> problems(std::chrono::seconds limit) const;

 private:
  Finished on_host(const std::string& line, std::chrono::seconds limit = std::chrono::seconds(60)) const;
  std::string directory() const { return "/home/" + name_; }

  const Cluster& cluster_;
  std::string host_, name_;
  std::vector<Background> running_;
  int begun_ = 0;
};

}  // namespace underway::harness
