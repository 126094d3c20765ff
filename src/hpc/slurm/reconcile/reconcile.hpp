#pragma once
/// @file
/// What slurmctld believes after it was started from an older state, compared with what the nodes really run, before it
/// schedules anything. slurmctld saves its state some seconds behind (facts: up to five), so that after the loss of its
/// host a job that runs may be pending again, or be unknown; and one that ended meanwhile may still count as running.
/// Pure; reconciler.hpp carries it out.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "slurm/reconcile/ends.hpp"
#include "slurm/reconcile/slurm_jobs.hpp"

namespace underway::slurm {

/// Ends the steps "extern" of jobs, whose ids are its arguments; for /bin/sh -c. slurmstepd ends when what it waits for
/// does; who would tell it otherwise is a slurmctld that does not know the job.
inline constexpr const char* kEndExternScript =
    "for id; do for p in $(pgrep -f \"^slurmstepd: \\[$id\\.extern\\]\"); do pkill -P \"$p\"; done; done; true";

/// Hides the steps of jobs, whose ids are its arguments, from the slurmd of the host; for /bin/sh -c. slurmd tells
/// slurmctld of the steps that have a socket in its spool directory, and is told to kill those of jobs that do not run
/// for slurmctld ("Orphan StepId", "Registered PENDING JobId": validate_jobs_on_node in job_mgr.c). A step without its
/// socket there runs on.
inline constexpr const char* kSpareScript =
    "for id; do sed -n \"s,.* \\(/[^ ]*_$id\\.[0-9.]*\\)\\$,\\1,p\" /proc/net/unix | sort -u | while read -r socket; "
    "do "
    "[ -S \"$socket\" ] || continue; to=${socket%/*}/spared; mkdir -p \"$to\" && mv \"$socket\" \"$to/\"; done; done; "
    "echo looked";
/// Why a node is drained that runs jobs which were spared: nothing else may come to where they are.
inline constexpr const char* kSparedReason = "Slurm jobs run here that slurmctld does not know of (underway)";

struct Finding {
  enum class Kind {
    ghost,     ///< runs for slurmctld, and nowhere else, with which result nobody knows: it is ended
    ended,     ///< the same, and how it ended is known: that is entered
    returned,  ///< slurmctld had it as started, and none of its nodes was ever told: it waits again
    row,       ///< slurmctld does not know it; it has run, and ended
    accepted,  ///< slurmctld does not know it, and it has not run: its script was put aside
    doubled,   ///< runs, and waits to be started: it is held
    unknown,   ///< runs, and slurmctld does not know it, or knows that it has ended
    unseen,    ///< some of its nodes could not be looked at: left alone
    waited,    ///< waits, and has run since, or may have: in a state so old, or as tasks of an array; it is held
  };
  Kind kind = Kind::unknown;
  std::string job, user;
  std::vector<std::string> hosts;
  std::string text;  ///< for people
  bool operator==(const Finding&) const = default;
};

inline constexpr Duration kLongBehind = std::chrono::minutes(10);

/// What is known of jobs besides what runs.
struct Known {
  Ends nodes, accounts;                         ///< how jobs ended
  std::map<std::string, std::string> names;     ///< by id, as the accounting has them: parse_names
  std::map<std::string, std::string> accepted;  ///< users by job: what lay in StateSaveLocation when slurmctld started
  std::set<std::string> logged;                 ///< nodes whose slurmd writes down what it launches; it was read
  bool can_enter = false;                       ///< the image has kEnterEnd
  std::int64_t state_time = 0;                  ///< when the state was written, seconds since the epoch; 0: not known
};

/// An end to be entered beside slurmctld, and what is done where that fails.
struct Entry {
  std::vector<std::string> command, otherwise;
  Finding unless;  ///< is found where it fails
  bool operator==(const Entry&) const = default;
};

struct Reconciliation {
  std::vector<Finding> findings;
  std::vector<Entry> entries;
  std::vector<std::vector<std::string>> commands;  ///< to be run beside slurmctld, in this order
  std::set<std::string> held;                      ///< ids of the jobs that must not start now
  /// The greatest job id that runs and is unknown: it must not be given out again. 0: none.
  std::int64_t unknown_up_to = 0;
  /// By host: jobs that run and do not for slurmctld. They have to be hidden before it speaks to its nodes, or it has
  /// them killed.
  std::map<std::string, std::set<std::string>> spare;
  std::vector<std::string> drain;  ///< names of the nodes on these hosts
  std::set<std::string> kept;      ///< jobs whose scripts are kept: Finding::Kind::accepted
};

/// `host_of`: Slurm's node names to hosts. `hosts`: what runs on each host that was looked at; others are absent.
/// `with_steps`: parse_steps. A job without a step of any kind is an allocation that waits for its user: nothing of it
/// is to be found on nodes, and it is left alone. `behind`: how much older than the last look at slurmctld the state is
/// that it was started from; beyond kLongBehind what waits in it may have run since, and is held.
/// Of an end on a node that is not in the time of the run that slurmctld means nothing is made: numbers come back.
Reconciliation reconcile(const std::vector<SlurmJob>& slurm_jobs, const std::set<std::string>& with_steps,
                         const std::map<std::string, std::string>& host_of,
                         const std::map<std::string, std::set<std::string>>& hosts, Duration behind = Duration{0},
                         const Known& known = {});

/// A job that was spared has ended: what is entered for it, `slurm_job` being what slurmctld has of its number;
/// nothing: its end is not known, or there is nothing to enter it with. Of an array only the accounting's row:
/// slurmctld has other tasks under that number.
std::optional<std::vector<std::string>> enter_spared(const std::string& job, const std::optional<SlurmJob>& slurm_job,
                                                     const std::optional<End>& end);

/// Of the jobs that had to be held those that are not: `scontrol hold` fails for a whole array when one of its tasks
/// has ended, whatever it did for the others (20.11 to 24.11).
std::vector<std::string> not_held(const std::set<std::string>& held, const std::vector<SlurmJob>& slurm_jobs);

/// Of the nodes that do not answer slurmctld those that are alive: what it believes to run there does. The way between
/// the two is broken, and after SlurmdTimeout it would take them for dead, and end their jobs. Arguments as above.
std::set<std::string> cut_off(const std::set<std::string>& silent, const std::vector<SlurmJob>& slurm_jobs,
                              const std::map<std::string, std::string>& host_of,
                              const std::map<std::string, std::set<std::string>>& hosts);

}  // namespace underway::slurm
