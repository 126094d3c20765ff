#pragma once
/// @file
/// A node as `scontrol -o show node` prints it. sinfo knows nothing of a node that is in no partition, and a dynamic
/// node that was declared wrongly is in none. Untrusted: whatever is printed is read as far as it makes sense.

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace underway::slurm {

struct NodeRecord {
  std::string name = {};     ///< Slurm's
  std::string address = {};  ///< where slurmctld looks for it
  std::string hostname = {};
  std::string state = {};  ///< without flags, upper case: "IDLE", "MIXED", "ALLOCATED", "DOWN", "FUTURE"
  std::set<std::string> flags =
      {};                   ///< "CLOUD", "DRAIN", "DYNAMIC_NORM", "NOT_RESPONDING", "POWERED_DOWN", "POWERING_UP", …
  std::string reason = {};  ///< without who gave it and when; empty: none
  std::int64_t cpus = 0;
  std::int64_t cpus_given = 0;  ///< to jobs
  std::int64_t memory_mb = 0;   ///< RealMemory, MiB
  std::int64_t weight = 0;
  std::set<std::string> features = {};
  std::vector<std::string> partitions = {};

  bool is(const std::string& flag) const { return flags.contains(flag); }
  /// Made by `slurmd -Z`.
  bool dynamic() const { return is("DYNAMIC_NORM"); }
  bool draining() const { return is("DRAIN"); }
  bool responds() const {
    return !is("NOT_RESPONDING") && state != "DOWN" && !is("POWERED_DOWN") && !is("POWERING_UP");
  }
  /// Slurm's power saving has it off, or on its way there: no job comes before Slurm has asked for it.
  bool powered_down() const { return is("POWERED_DOWN") || is("POWERING_DOWN"); }
  /// Slurm has asked for it, or is about to, and waits until it registers anew.
  bool powering_up() const { return is("POWERING_UP") || is("POWER_UP"); }
  /// No job is there, nor one that Slurm still clears away.
  bool empty() const;
  bool operator==(const NodeRecord&) const = default;
};

/// Asks scontrol for all nodes, those of hidden partitions too.
std::vector<std::string> records_command();
std::vector<NodeRecord> parse_records(std::string_view text);

}  // namespace underway::slurm
