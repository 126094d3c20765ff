#pragma once
/// @file
/// Slurm's queue as squeue prints it: what waits, what for, and what runs where. Untrusted: a line that makes no sense
/// is left out.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "slurm/elastic/members.hpp"

namespace underway::slurm {

/// A Slurm job; of an array the tasks that wait together, or one that runs. What squeue does not tell, or tells in no
/// way that makes sense, is as it is here.
struct QueuedJob {
  std::string id;      ///< "17"; of an array "17_3", or what waits of it "17_[3-9%4]"; of a heterogeneous job "17+1"
  std::string state;   ///< "PENDING", "RUNNING", "SUSPENDED", "COMPLETING", …
  std::string reason;  ///< why it waits, Slurm's word: "Resources"; "None" when there is none; sometimes a sentence
  std::string user, account, qos;
  std::vector<std::string> partitions;  ///< a job that waits may name several
  std::int64_t priority = 0;
  std::int64_t nodes_min = 1;
  std::int64_t nodes_max = 0;  ///< 0: as nodes_min
  std::int64_t cpus = 1;       ///< in all
  std::int64_t memory_mb = 0;  ///< MiB on each node, or on each CPU, which Slurm does not tell; 0: none, or all it has
  std::vector<std::string> features;  ///< each must be had; "a|b" is had by a node that has either
  std::string gres;                   ///< generic resources of each node, as Slurm writes it: "gres:gpu:1"; empty: none
  std::string named_nodes;            ///< a host list of nodes that it must have; empty: it does not say
  std::string reservation;
  bool exclusive = false;
  std::int64_t array_remaining = 1;  ///< tasks that wait
  std::int64_t array_limit = 0;      ///< how many may run at once; 0: no limit
  std::vector<std::string> nodes;    ///< that it has
  TimePoint submitted{};
  /// When it started. Of one that waits, when Slurm expects it to start with the nodes that there are now, or since
  /// when it might, or before which it shall not: that alone is a bound, and has the reason "BeginTime". The epoch:
  /// nobody knows.
  TimePoint starts{};
  TimePoint ends{};       ///< by `starts` and its time limit; the epoch: nobody knows
  Duration time_limit{};  ///< 0: none, or more than a year, which squeue calls invalid
  bool operator==(const QueuedJob&) const = default;
  /// PENDING.
  bool waits() const { return state == "PENDING"; }
};

/// Asks squeue for all jobs that wait or have nodes.
Command queue_command();
/// Most nodes that one job may name; one that names more has none.
inline constexpr std::size_t kMostNodesOfJob = 100'000;
/// Of what queue_command() prints. A line of more than 64 KiB, and one that has no id or no state, is left out.
std::vector<QueuedJob> parse_queue(std::string_view text);

}  // namespace underway::slurm
