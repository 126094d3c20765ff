#pragma once
/// @file
/// What Slurm says of its nodes and jobs, as its commands print it. Untrusted: whatever is printed is read as far as it
/// makes sense.

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace underway::slurm {

/// A node as nodes_command() has it printed.
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

/// Asks sinfo for all nodes.
std::vector<std::string> nodes_command();
/// Asks squeue for the jobs that run on nodes.
std::vector<std::string> jobs_command(const std::vector<std::string>& nodes);

/// One per name: sinfo tells of a node once per partition.
std::vector<NodeState> parse_nodes(std::string_view text);
/// Ids of jobs by the names of their nodes, of what jobs_command() prints.
std::map<std::string, std::vector<std::string>> parse_jobs(std::string_view text);

}  // namespace underway::slurm
