#pragma once
/// @file
/// Pending jobs that ask for the same, so that what is true of one is worked out once for all.

#include "elastic/tick.hpp"

#include <unordered_map>

namespace underway::elastic::detail {

/// What a job asks of its nodes. Points into the tick.
struct Shape {
  const PendingJob* sample = nullptr;
  std::int64_t cpus = 1;   ///< per node
  std::int64_t tasks = 0;  ///< of all jobs of the shape that would start now
  bool redone = false;     ///< its node was taken back once: no opportunistic one
  bool blocked = false;    ///< what cannot be placed now cannot be for the next job of the shape either
  bool ranked = false;
  std::vector<std::size_t> ranking;  ///< classes that serve it, the cheapest first
  ShapeExplanation explained;
};

/// A job that would start now if there were nodes.
struct Wanted {
  std::int64_t priority = 0;  ///< the job's; here as well, because a hundred thousand of them are sorted by it
  TimePoint submitted{};
  const PendingJob* job = nullptr;
  std::size_t shape = 0;
  std::int64_t tasks = 0;
};

struct Demand {
  std::vector<Wanted> jobs;  ///< in the order in which Slurm would start them
  std::vector<Shape> shapes;
  std::map<std::string, std::int64_t> not_cured;
  std::map<std::string, bool, std::less<>> reached;  ///< by partition: whether a threshold is
  std::vector<ThresholdExplanation> thresholds;      ///< of partitions where none is
};

/// Pending jobs that would start now if nodes existed: the reason is one that nodes cure, the begin time has come, and
/// of an array as many tasks as may run at once.
Demand demand_of(const Policy& policy, const Tick& tick, const State& state);

}  // namespace underway::elastic::detail
