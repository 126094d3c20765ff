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

namespace underway::slurm {

/// A Slurm job as slurmctld has it: as beliefs_command() has it printed.
struct Belief {
  std::string id;
  std::string state;  ///< extended: "RUNNING", "PENDING", "COMPLETING"
  std::string user;
  std::vector<std::string> nodes;
  bool held = false;  ///< by its user or an administrator
  bool operator==(const Belief&) const = default;
};
std::vector<std::string> beliefs_command();
std::vector<Belief> parse_beliefs(std::string_view text);

std::vector<std::string> steps_command();
/// Ids of the jobs that have a step in slurmctld's list, of what steps_command() prints ("17.batch", "18.0").
std::set<std::string> parse_steps(std::string_view text);

/// Prints "17.batch" for each slurmstepd of the host; for /bin/sh -c.
inline constexpr const char* kStepsScript =
    "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | "
    "sed -n 's/^slurmstepd: \\[\\([0-9]*\\.[a-z0-9]*\\)\\].*/\\1/p' | sort -u; echo looked";
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
    ghost,    ///< runs for slurmctld, and nowhere else: it is ended
    doubled,  ///< runs, and waits to be started: it is held
    unknown,  ///< runs, and slurmctld does not know it, or knows that it has ended
    unseen,   ///< some of its nodes could not be looked at: left alone
    waited,   ///< waited in a state so old that they may have run since: they are held
  };
  Kind kind = Kind::unknown;
  std::string job, user;
  std::vector<std::string> hosts;
  std::string text;  ///< for people
  bool operator==(const Finding&) const = default;
};

inline constexpr Duration kLongBehind = std::chrono::minutes(10);

struct Reconciliation {
  std::vector<Finding> findings;
  std::vector<std::vector<std::string>> commands;  ///< to be run beside slurmctld, in this order
  /// The greatest job id that runs and is unknown: it must not be given out again. 0: none.
  std::int64_t unknown_up_to = 0;
  /// By host: jobs that run and do not for slurmctld. They have to be hidden before it speaks to its nodes, or it has
  /// them killed.
  std::map<std::string, std::set<std::string>> spare;
  std::vector<std::string> drain;  ///< names of the nodes on these hosts
};

/// `host_of`: Slurm's node names to hosts. `hosts`: what runs on each host that was looked at; others are absent.
/// `with_steps`: parse_steps. A job without a step of any kind is an allocation that waits for its user: nothing of it
/// is to be found on nodes, and it is left alone. `behind`: how much older than the last look at slurmctld the state is
/// that it was started from; beyond kLongBehind what waits in it may have run since, and is held.
Reconciliation reconcile(const std::vector<Belief>& beliefs, const std::set<std::string>& with_steps,
                         const std::map<std::string, std::string>& host_of,
                         const std::map<std::string, std::set<std::string>>& hosts, Duration behind = Duration{0});

/// Of the nodes that do not answer slurmctld those that are alive: what it believes to run there does. The way between
/// the two is broken, and after SlurmdTimeout it would take them for dead, and end their jobs. Arguments as above.
std::set<std::string> cut_off(const std::set<std::string>& silent, const std::vector<Belief>& beliefs,
                              const std::map<std::string, std::string>& host_of,
                              const std::map<std::string, std::set<std::string>>& hosts);

}  // namespace underway::slurm
