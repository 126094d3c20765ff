#pragma once
/// @file
/// Slurm jobs that are done again because their node is taken from them: told beforehand, queued again, and kept off
/// some nodes from then on.
///
/// The words are the same in 20.11, 22.05 and 24.11. Slurm holds a job back for two minutes when it is queued again,
/// and takes the nodes that it must not have from then on, also while it still clears away what ran. Of one that runs
/// it refuses them, and so it does when one of them is no node of its.

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/elastic/members.hpp"

namespace underway::slurm {

/// What the queue (job_queue.hpp) does not tell of a job.
struct RedoFacts {
  std::string id;                  ///< as in the queue: "17", "17_3"
  std::string number;              ///< Slurm's own, which no other job has: of "17_3" another one than 17
  std::string state;               ///< "RUNNING", "PENDING", "FAILED", …
  std::string batch_host;          ///< the node of its script
  std::set<std::string> kept_off;  ///< nodes that it must not have
  bool requeues = false;           ///< it may be queued again
  bool batch = false;              ///< it has a script: of others Slurm queues none again
  bool operator==(const RedoFacts&) const = default;
};

/// Asks for jobs by their ids, those that have ended a short while ago too (MinJobAge). Who is not known is not told
/// of.
Command redo_facts_command(const std::vector<std::string>& ids);
/// Untrusted: a line that makes no sense is left out.
std::vector<RedoFacts> parse_redo_facts(std::string_view text);

/// Why a job cannot be done again, as "may not be requeued"; empty: it can. `facts`: null when Slurm does not know it.
std::string why_not_redone(const std::string& id, const RedoFacts* facts);

/// Prints the numbers of jobs whose script catches SIGTERM, of those whose script runs on the host; for run_on_host().
/// A script that does not is ended by the signal, and its job has FAILED, which no later success cures: jobs that
/// depend on it (afterok) never start. So it is not told, and has the time of the notice to end by itself.
Command listeners_command();
/// Nothing when the script did not get to its end.
std::optional<std::set<std::string>> parse_listeners(std::string_view text);

/// SIGTERM to all processes of the jobs, as Slurm has it for a job that makes way (GraceTime).
Command notice_command(const std::vector<std::string>& ids);
/// Queues a job again, one that has failed too, and keeps it off nodes; both beside slurmctld, one right after the
/// other.
Command redo_command(const std::string& id, const std::set<std::string>& kept_off);
/// Of one that waits.
Command keep_off_command(const std::string& id, const std::set<std::string>& nodes);

}  // namespace underway::slurm
