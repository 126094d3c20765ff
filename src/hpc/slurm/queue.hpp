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

/// The reason that a drain of ours gives Slurm (drain.hpp); what carries another one is not taken back by it.
inline constexpr const char* kDrainReason = "underway: the node is drained";

/// Asks sinfo for all nodes.
std::vector<std::string> nodes_command();
/// Has no job come to nodes any more, and takes that back.
std::vector<std::string> drain_command(const std::vector<std::string>& nodes, const std::string& reason);
std::vector<std::string> resume_command(const std::vector<std::string>& nodes);
/// States in which a job has nodes, for `squeue -t`: one that a signal is on its way to is not RUNNING (20.11
/// to 24.11).
inline constexpr const char* kStatesWithNodes = "RUNNING,SUSPENDED,COMPLETING,CONFIGURING,RESIZING,SIGNALING,STOPPED";

/// Asks squeue for the jobs that are on nodes; none named: on all.
std::vector<std::string> jobs_command(const std::vector<std::string>& nodes);

/// One per name: sinfo tells of a node once per partition.
std::vector<NodeState> parse_nodes(std::string_view text);
/// Ids of jobs by the names of their nodes, of what jobs_command() prints.
std::map<std::string, std::vector<std::string>> parse_jobs(std::string_view text);

}  // namespace underway::slurm
