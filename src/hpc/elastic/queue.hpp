#pragma once
/// @file
/// What the policy sees of Slurm's queue. Who fills it in reads squeue or a trace; memory is in MiB, as Slurm counts
/// it.

#include "base/clock.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace underway::elastic {

/// A Slurm job that waits, or the tasks of an array that still do.
struct PendingJob {
  std::string id;
  std::string user, account, qos, partition;
  std::int64_t priority = 0;   ///< Slurm's: the greater one goes first
  std::int64_t nodes_min = 1;  ///< more than one is a gang: it starts on all of them or on none
  std::int64_t nodes_max = 1;  ///< 0: as nodes_min
  std::int64_t cpus = 1;       ///< in all, over its nodes_min nodes
  std::int64_t memory_mb = 0;  ///< on each node; 0: whatever there is
  /// Each must be had by the node; "a|b" is had by one that has either.
  std::vector<std::string> features;
  bool exclusive = false;            ///< it shares its nodes with no other
  std::int64_t array_remaining = 1;  ///< tasks that wait
  std::int64_t array_limit = 0;      ///< how many may run at once ("%4"); 0: no limit
  std::int64_t array_running = 0;    ///< how many do
  std::string reason;                ///< Slurm's word for why it waits: "Resources"
  TimePoint submitted{};
  TimePoint eligible_at{};  ///< it may not start before; the epoch: at once
  Duration time_limit{};    ///< 0: none

  /// Rounded up, as Slurm spreads them.
  std::int64_t cpus_per_node() const { return nodes_min <= 1 ? cpus : (cpus + nodes_min - 1) / nodes_min; }
  bool gang() const { return nodes_min > 1; }
  /// How many of its tasks Slurm would let start now.
  std::int64_t startable() const;
};

inline std::int64_t PendingJob::startable() const {
  if (array_limit <= 0) return array_remaining;
  const std::int64_t room = array_limit - array_running;
  return room < 0 ? 0 : (room < array_remaining ? room : array_remaining);
}

/// A Slurm job that has nodes, or sleeps with those that it had.
struct RunningJob {
  std::string id;
  std::string user, account, qos, partition;
  std::int64_t priority = 0;
  std::vector<std::string> nodes;
  std::int64_t cpus_per_node = 1;
  std::int64_t memory_mb = 0;  ///< on each node
  TimePoint started{};
  TimePoint ends{};          ///< by its time limit; the epoch: nobody knows
  TimePoint kept{};          ///< its work until then is safe: its last checkpoint; the epoch: none was made
  bool suspendable = false;  ///< its nodes are VMs that can sleep
  bool ending = false;       ///< it is being cleared away, or is queued again already
  std::string not_redone;    ///< why it cannot be done again, "is interactive"; empty: it can
  std::int64_t suspensions = 0;
  Duration asleep{};  ///< in all, until now
};

}  // namespace underway::elastic
