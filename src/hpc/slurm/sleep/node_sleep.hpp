#pragma once
/// @file
/// Nodes whose machine sleeps: what Slurm is told before and afterwards, so that it neither gives the node up nor sends
/// it jobs, and users see their jobs SUSPENDED and RUNNING and nothing else.
///
///   to sleep   no job may come · its jobs are suspended · another node answers for it · the machine sleeps
///   to wake    the machine runs · it answers itself · its jobs go on · jobs may come
///   is booted  the node is down, and with it its jobs · it comes as any that was booted
///
/// slurmctld asks each node now and then whether it is there, and sets one down that was silent for SlurmdTimeout, with
/// the loss of its jobs, suspended ones too (ping_nodes.c of 20.11 to 24.11). It asks at the node's address, and takes
/// the word of whichever slurmd is there: so the address is that of a node which is awake. That slurmd knows nothing of
/// the sleeping node's jobs, and says so: one that is cancelled is over at once, and what is left of it is ended when
/// the machine wakes. Tried by integration.slurm_node_sleep.
///
/// A job of several nodes is suspended on all of them by one word, once all are to sleep, and goes on by one word, once
/// all are awake and answer: slurmctld says it to each slurmd a single time, and does not ask what became of it.

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/elastic/members.hpp"

namespace underway::slurm {

/// A job that has nodes.
struct NodeJob {
  std::string id;     ///< that scontrol takes: of a task of an array its own
  std::string state;  ///< "RUNNING", "SUSPENDED", "COMPLETING", …
  std::vector<std::string> nodes;
  bool operator==(const NodeJob&) const = default;
};
/// Asks squeue for the jobs of nodes that Slurm knows; of none: for all that have nodes.
Command node_jobs_command(const std::vector<std::string>& nodes);
/// Untrusted: a line that makes no sense is left out. Throws Error(invalid) when one names no nodes that can be told.
std::vector<NodeJob> parse_node_jobs(std::string_view text);

/// Who can answer for nodes that sleep: the address of a node that responds and is none of `sleeping`, and that has
/// none of their jobs, which it would speak of. As long as that is good, the one that answers already, `now`. Empty:
/// there is none.
std::string stand_in(const std::vector<NodeRecord>& records, const std::vector<std::string>& sleeping,
                     const std::vector<NodeJob>& jobs, const std::string& now);

/// Nodes that have to sleep with `nodes`, as a job is on both, or on both and a third; by name, with that job.
std::map<std::string, std::string> companions(const std::vector<NodeJob>& jobs, const std::vector<std::string>& nodes);

/// How it stands with the nodes of a cluster that sleep, are to, or were until now.
struct Sleepers {
  std::set<std::string> to_sleep;   ///< nodes, until somebody wakes them; not those that sleep on their way elsewhere
  std::set<std::string> away;       ///< nodes that do not answer themselves: nothing can be said to what runs there
  std::set<std::string> suspended;  ///< jobs that sleep with any of them
};

struct SleepPlan {
  std::vector<Command> commands;       ///< in this order
  std::vector<std::string> suspended;  ///< jobs that sleep with the node; to be written down before any is told to
  bool done = false;                   ///< its machine may sleep; or, of waking, all is as if it never had
  std::string why;                     ///< what is waited for, as a clause
};
/// What follows for a node whose machine is to sleep, or sleeps. `record`: null: Slurm does not know it. `jobs`: those
/// that are on it. `suspended`: those that were written down. `answers`: of stand_in(). `moves`: it sleeps for as long
/// as it is on its way elsewhere, which other nodes of its jobs can wait for.
SleepPlan plan_sleep(const std::string& node, const NodeRecord* record, const std::vector<NodeJob>& jobs,
                     const std::vector<std::string>& suspended, const std::string& answers, const Sleepers& all,
                     bool moves = false);
/// And for one whose machine runs again at `address`. `let_in`: jobs may come, too. What it has `suspended` when it is
/// done goes on with nodes that are not awake yet.
SleepPlan plan_waking(const std::string& node, const NodeRecord* record, const std::vector<NodeJob>& jobs,
                      const std::vector<std::string>& suspended, const std::string& address, bool let_in,
                      const Sleepers& all);

/// For one whose machine was booted instead, at `address`: its jobs were in the memory that is gone. Slurm is not left
/// to find that out, which takes it minutes: as the node is down, it ends them, and queues those again that may be;
/// what depends on them waits on. Before slurmd is started there: one that registers may have jobs again. A hold by
/// somebody else stays, with its reason. `jobs` and `suspended`: as of plan_waking().
std::vector<Command> lost_commands(const NodeRecord& record, const std::vector<NodeJob>& jobs,
                                   const std::vector<std::string>& suspended, const std::string& address);

}  // namespace underway::slurm
