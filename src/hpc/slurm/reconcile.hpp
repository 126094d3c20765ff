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
#include "slurm/ends.hpp"

namespace underway::slurm {

/// A Slurm job as slurmctld has it: as beliefs_command() has it printed.
struct Belief {
  std::string id;     ///< its own, as its steps have it on the nodes
  std::string state;  ///< extended: "RUNNING", "PENDING", "COMPLETING"
  std::string user;
  std::vector<std::string> nodes;
  bool held = false;       ///< by its user or an administrator
  std::int64_t start = 0;  ///< seconds since the epoch; 0: not known
  /// "17_2", of a task of a job array that has begun; else as `id`. The last task of an array has the array's own
  /// number for its id: to cancel that is to cancel them all.
  std::string name = id;
  std::int64_t submitted = 0;  ///< as `start`
  bool is_array = false;       ///< `id` is the number of a job array too, and means all of its tasks
  std::string waiting = {};    ///< "17_[3-9]", the tasks of an array that wait together, or "17_3"; else empty
  bool operator==(const Belief&) const = default;
};
/// Prints each job at least once.
std::vector<std::string> beliefs_command();
std::vector<Belief> parse_beliefs(std::string_view text);

std::vector<std::string> steps_command();
/// Names of the jobs that have a step in slurmctld's list, of what steps_command() prints ("17.batch", "18_2.0").
std::set<std::string> parse_steps(std::string_view text);

/// Prints "17.batch" for each slurmstepd of the host; for /bin/sh -c. Not "17.extern", which PrologFlags=Contain makes
/// for each job: it waits for slurmctld's word, and nothing of the job runs in it.
inline constexpr const char* kStepsScript =
    "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | "
    "sed -n 's/^slurmstepd: \\[\\([0-9]*\\.[a-z0-9]*\\)\\].*/\\1/p' | grep -v '\\.extern$' | sort -u; echo looked";
/// Ends the steps "extern" of jobs, whose ids are its arguments; for /bin/sh -c. slurmstepd ends when what it waits for
/// does; who would tell it otherwise is a slurmctld that does not know the job.
inline constexpr const char* kEndExternScript =
    "for id; do for p in $(pgrep -f \"^slurmstepd: \\[$id\\.extern\\]\"); do pkill -P \"$p\"; done; done; true";
/// The jobs that run there; nothing when the script did not get to its end.
std::optional<std::set<std::string>> parse_host_steps(std::string_view text);

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
Reconciliation reconcile(const std::vector<Belief>& beliefs, const std::set<std::string>& with_steps,
                         const std::map<std::string, std::string>& host_of,
                         const std::map<std::string, std::set<std::string>>& hosts, Duration behind = Duration{0},
                         const Known& known = {});

/// A job that was spared has ended: what is entered for it, `belief` being what slurmctld has of its number; nothing:
/// its end is not known, or there is nothing to enter it with. Of an array only the accounting's row: slurmctld has
/// other tasks under that number.
std::optional<std::vector<std::string>> enter_spared(const std::string& job, const std::optional<Belief>& belief,
                                                     const std::optional<End>& end);

/// Lists what was put aside when slurmctld started, and removes it except for some; for /bin/sh -c, with
/// StateSaveLocation, and the ids of the jobs that stay.
inline constexpr const char* kAcceptedScript = R"(cd "$1/underway-accepted" 2>/dev/null || exit 0
for d in hash.*/job.*; do [ -f "$d/script" ] || continue
user=$(tr '\0' '\n' <"$d/environment" 2>/dev/null | sed -n 's/^\(USER\|LOGNAME\)=\([A-Za-z0-9._-]*\)$/\2/p' | head -n 1)
echo "${d##*.}|$user"; done)";
inline constexpr const char* kForgetAcceptedScript = R"(cd "$1/underway-accepted" 2>/dev/null || exit 0; shift
for d in hash.*/job.*; do case " $* " in *" ${d##*.} "*) ;; *) rm -rf "$d" ;; esac; done)";
/// Users by job, of what kAcceptedScript prints.
std::map<std::string, std::string> parse_accepted(std::string_view text);

/// Of the jobs that had to be held those that are not: `scontrol hold` fails for a whole array when one of its tasks
/// has ended, whatever it did for the others (20.11 to 24.11).
std::vector<std::string> not_held(const std::set<std::string>& held, const std::vector<Belief>& beliefs);

/// Of the nodes that do not answer slurmctld those that are alive: what it believes to run there does. The way between
/// the two is broken, and after SlurmdTimeout it would take them for dead, and end their jobs. Arguments as above.
std::set<std::string> cut_off(const std::set<std::string>& silent, const std::vector<Belief>& beliefs,
                              const std::map<std::string, std::string>& host_of,
                              const std::map<std::string, std::set<std::string>>& hosts);

}  // namespace underway::slurm
