#pragma once
/// @file
/// What Slurm is told when a node comes and when it goes. A node goes in this order: no job comes to it any more, its
/// jobs have ended, its machine is stopped, Slurm forgets it; only then may another get its address. Slurm that still
/// has the address of a node that is gone takes the answers of whoever has it next for the node's, and ends jobs.
///
/// A node that comes is held until it is ready (readiness.hpp) by not starting its slurmd: what registers is idle
/// within a moment, and one that was drained would have to be asked by slurmctld first, which takes up to a second.

#include <map>
#include <string>
#include <vector>

#include "slurm/elastic/join.hpp"
#include "slurm/elastic/node_record.hpp"

namespace underway::slurm {

using Command = std::vector<std::string>;

/// The reasons that we give. What carries another one is somebody else's, and is not taken back.
inline constexpr const char* kAbsentReason = "underway: the node is not there";
inline constexpr const char* kLeavingReason = "underway: the node is going";
inline constexpr const char* kAsleepReason = "underway: the node sleeps";  ///< its machine does, or is about to
inline constexpr const char* kNotReadyPrefix = "underway: not ready: ";
inline constexpr const char* kNoBootPrefix = "underway: did not boot: ";
/// What Slurm itself says of a node that it has asked for in vain (slurmctld/power_save.c of 20.11 to 24.11).
inline constexpr const char* kResumeTimeoutReason = "ResumeTimeout reached";
/// Whether a node is held by one of ours.
bool held_by_us(const NodeRecord& record);

/// Where a node is that is not there: nobody's address (RFC 5737, TEST-NET-1). slurmctld asks nodes that are down, too.
inline constexpr const char* kNowhere = "192.0.2.1";

/// Tells Slurm where nodes are. In force at once, where slurmctld of 20.11 and 22.05 otherwise goes on with the address
/// from before: the node looks idle, as it registers by itself, and what is started there fails, and is queued again
/// for two minutes later. To be said before slurmd is started on the node.
Command address_command(const std::map<std::string, std::string>& addresses);
/// Those of `actual` of which Slurm has another address. A dynamic node that Slurm does not know tells its address
/// itself.
std::map<std::string, std::string> moved(const std::vector<NodeRecord>& records,
                                         const std::map<std::string, std::string>& actual);

/// Nodes of mode cloud or fixed that are not there and do not run slurmd: no job is given to them, where it would wait
/// for Slurm's sweep. They are idle as soon as their slurmd registers (ReturnToService=2), and so they are when
/// slurmctld works off an answer that they gave while they were there: one that has been there stays drained as well.
Command absent_command(const std::vector<std::string>& nodes);
/// What is said of nodes that come, at `actual`, before slurmd is started on them: where they are, and that those which
/// were there before are drained no more. Nothing of those that Slurm does not know, which tell it themselves.
std::vector<Command> arrival_commands(const std::vector<NodeRecord>& records,
                                      const std::map<std::string, std::string>& actual);
/// Jobs may come to nodes that are drained. slurmctld of 22.05 and 24.11 asks them first whether they are there, once a
/// second.
Command admit_command(const std::vector<std::string>& nodes);

enum class LeaveStep : std::uint8_t {
  drain,   ///< no job may come: `command`
  wait,    ///< for its jobs
  stop,    ///< the machine may be stopped; its address is still its own
  forget,  ///< `command` has Slurm know it no longer, or not look for it
  gone,    ///< its address may be another's
  kept,    ///< somebody else holds the node: it is not taken away under them
};
struct LeaveVerdict {
  LeaveStep step = LeaveStep::wait;
  Command command;
  std::string why;  ///< as a sentence without its stop
};
/// What is to be done next so that a node can go. `record`: what Slurm says of it now; null: it does not know it.
/// `jobs`: those on it, of jobs_command(). `runs`: whether its machine does; a machine of which nobody knows runs. To
/// be asked again after each step: a job may have come between the look and the drain.
LeaveVerdict decide_leave(JoinMode mode, const std::string& node, const NodeRecord* record,
                          const std::vector<std::string>& jobs, bool runs);

/// Where Slurm itself asks for nodes (AskPrograms). One that did not boot is set down: Slurm ends the wait of its jobs,
/// and queues those again that may be.
Command no_boot_command(const std::string& node, const std::string& why);
/// What is down is powered down, whatever it was before: with idle_on_node_suspend Slurm may ask for it again.
Command power_down_command(const std::vector<std::string>& nodes);
/// As decide_leave, of a node that Slurm has powered down itself: nothing is to be drained, and nothing is said to
/// Slurm but that nobody is at its address any more. One that Slurm has not powered down, or on which a job is again,
/// is left alone: what was said before of it is out of date.
LeaveVerdict decide_powered_leave(const std::string& node, const NodeRecord* record,
                                  const std::vector<std::string>& jobs, bool runs);

}  // namespace underway::slurm
