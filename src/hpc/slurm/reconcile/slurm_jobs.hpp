#pragma once
/// @file
/// What slurmctld believes of jobs, what runs on the hosts, and what was put aside when slurmctld started: the commands
/// and scripts that print it, and how that is read. reconcile.hpp compares them.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace underway::slurm {

/// A Slurm job as slurmctld has it: as slurm_jobs_command() has it printed.
struct SlurmJob {
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
  bool operator==(const SlurmJob&) const = default;
};
/// Prints each job at least once.
std::vector<std::string> slurm_jobs_command();
std::vector<SlurmJob> parse_slurm_jobs(std::string_view text);

std::vector<std::string> steps_command();
/// Names of the jobs that have a step in slurmctld's list, of what steps_command() prints ("17.batch", "18_2.0").
std::set<std::string> parse_steps(std::string_view text);

/// Whether a job in this state holds its nodes now. A signal that is on its way to a job gives it a state of its own,
/// as long as a node does not answer. Source: squeue(1), JOB STATE CODES, of 20.11 to 24.11.
bool holds_nodes(std::string_view state);
/// Whether it will be started, again.
bool will_start(std::string_view state);
/// Whether its end is under way: steps may be there or not.
bool is_ending(std::string_view state);
/// Of the name of a task of an array that has begun, "17_2"; not of those that wait together, "17_[3-9%2]", which are
/// meant by the array's number.
bool is_array_task(std::string_view name);

/// Prints "17.batch" for each slurmstepd of the host; for /bin/sh -c. Not "17.extern", which PrologFlags=Contain makes
/// for each job: it waits for slurmctld's word, and nothing of the job runs in it.
inline constexpr const char* kStepsScript =
    "for f in /proc/[0-9]*/cmdline; do tr '\\0' ' ' <$f; echo; done 2>/dev/null | "
    "sed -n 's/^slurmstepd: \\[\\([0-9]*\\.[a-z0-9]*\\)\\].*/\\1/p' | grep -v '\\.extern$' | sort -u; echo looked";
/// The jobs that run there; nothing when the script did not get to its end.
std::optional<std::set<std::string>> parse_host_steps(std::string_view text);

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

}  // namespace underway::slurm
