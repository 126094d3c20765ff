#pragma once
/// @file
/// What Slurm says of its nodes and jobs, as its commands print it. Untrusted: whatever is printed is read as far as it
/// makes sense.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace underway::slurm {

/// A node as `sinfo -h -N -o kNodeFormat` prints it.
struct NodeState {
  std::string name;      ///< Slurm's
  std::string hostname;  ///< NodeHostname: several names may share a host
  std::string state;     ///< extended, without flags: "idle", "mixed", "draining", "drained", "down"
  std::string reason;    ///< "none" when there is none

  /// No Slurm job will come.
  bool held() const { return state == "draining" || state == "drained"; }
  /// And none is there; a node that is down and drained is shown so too.
  bool empty() const { return state == "drained"; }
  bool operator==(const NodeState&) const = default;
};

inline constexpr const char* kNodeFormat = "%N|%n|%T|%E";
inline constexpr const char* kJobFormat = "%A|%N";

/// One per name: sinfo tells of a node once per partition.
std::vector<NodeState> parse_nodes(std::string_view text);
/// Ids of jobs by the names of their nodes, from `squeue -h -o kJobFormat`.
std::map<std::string, std::vector<std::string>> parse_jobs(std::string_view text);

}  // namespace underway::slurm
