#pragma once
/// @file
/// A file that slurm.conf includes, and what stands in it: partitions start down, and nodes are given all the time that
/// they need, until somebody has compared slurmctld's beliefs with the nodes. slurm.conf(5): without -R slurmctld takes
/// the state of partitions from its configuration; SlurmdTimeout may not exceed 65533.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace underway::slurm {

inline constexpr const char* kHoldFile = "underway-hold.conf";

struct Hold {
  bool timeout = true;          ///< nodes that do not answer are not taken for dead
  bool partitions_down = true;  ///< nothing is started
  std::int64_t first_job = 0;   ///< ids below are not given out; 0: as slurmctld has it
};
/// The file's text. It has to be included before the partitions are declared.
std::string hold_text(const Hold& hold);
/// The file's text while nothing is held.
std::string no_hold_text();

/// A partition and whether it takes jobs: `sinfo -h -o kPartitionFormat`.
struct Partition {
  std::string name;
  bool up = false;
  bool operator==(const Partition&) const = default;
};
inline constexpr const char* kPartitionFormat = "%R|%a";
std::vector<Partition> parse_partitions(std::string_view text);

/// When slurmctld was started: the value of BOOT_TIME in `scontrol show config`; empty: it does not say.
std::string parse_boot_time(std::string_view text);

}  // namespace underway::slurm
