#pragma once
/// @file
/// How Slurm jobs ended, as their nodes and the accounting know it: for those whose end slurmctld has forgotten with
/// its newest state. slurmstepd writes it into slurmd's log before it tells slurmctld. Slurm's commands cannot enter
/// such an end; a script in the capsule of slurmctld can (kEnterEnd).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace underway::slurm {

/// How a job ended. Times are seconds since the epoch.
struct End {
  std::string state;         ///< as sacct has it: "COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"; empty: not known
  int status = 0;            ///< as wait(2) has it
  std::int64_t start = 0;    ///< 0: not known
  std::int64_t end = 0;      ///< 0: it has not ended
  bool of_batch = false;     ///< told by its batch script's step, not by others of its steps
  bool of_accounts = false;  ///< slurmctld itself had entered it
  bool sent_back = false;    ///< it was stopped to be queued again
  bool operator==(const End&) const = default;
};
using Ends = std::map<std::string, End>;  ///< by job

/// Prints what slurmd's logs on a host say of jobs; for /bin/sh -c. Arguments: the ids of jobs, with commas between
/// them; from when on any job is meant (seconds since the epoch, 0: none but those); the logs. Logs that were put aside
/// once are read too (NAME.1), and of each the last 32 MiB. Times without a zone are those of the host.
inline constexpr const char* kEndsScript = R"(ids=$1; since=0; [ "$2" -gt 0 ] && since=$(date -d "@$2" +%FT%T); shift 2
lines=$(for f; do for g in "$f.1" "$f"; do [ -r "$g" ] && tail -c 33554432 "$g"; done; done |
  grep -aE '^\[[0-9-]+T[0-9:.+-]+\] (\[[0-9]+\.(batch|[0-9]+)\] |Launching batch job |launch task StepId=)' |
  grep -aE 'Launching batch job|launch task|completed with slurm_rc|REQUEST_COMPLETE_BATCH|died by signal|CANCELLED AT|exited|done with' |
  awk -v ids="$ids" -v since="$since" 'BEGIN { n = split(ids, a, ","); for (i = 1; i <= n; ++i) want[a[i]] = 1 }
    { id = $0; if (!sub(/^[^ ]+ \[/, "", id)) { if (!sub(/.*Launching batch job /, "", id)) sub(/.*StepId=/, "", id) }
      sub(/[^0-9].*/, "", id) } id in want || (since && substr($1, 2) >= since)')
printf '%s\n' "$lines" | sed -n 's/^\[\([^]]*\)\].*/\1/p' | date -f - +%s; echo --; printf '%s\n' "$lines"
for f; do [ -r "$f" ] || exit 0; done; echo looked)";

/// Of what the script prints; nothing when it did not get to its end, or a log cannot be read. Slurm 20.11 to 24.11. An
/// exit code needs SlurmdDebug=verbose, 22.05 writes it nowhere else.
std::optional<Ends> parse_ends(std::string_view text);
/// Of two nodes of a job the one that ran its batch script knows; of others, the last and the worst.
void merge_ends(Ends& into, const Ends& more);

/// Asks the accounting how jobs ended.
std::vector<std::string> accounts_command(const std::vector<std::string>& jobs);
/// Those that have ended for it.
Ends parse_accounts(std::string_view text);
/// All that it knows, by id: "100_3" of a task of an array, or else the id.
std::map<std::string, std::string> parse_names(std::string_view text);

/// SlurmdLogFile of `scontrol show config`, as it is on `host` for the node `name`; empty: it logs elsewhere.
std::string slurmd_log(std::string_view config, const std::string& host, const std::string& name);

/// What enters an end beside slurmctld; see its head (examples/decoupled/images/files/slurm/enter-end).
inline constexpr const char* kEnterEnd = "/usr/lib/capsule/slurm/enter-end";
enum class Enter {
  end,       ///< slurmctld has the job, and does not know that it has ended
  reported,  ///< slurmstepd will tell slurmctld, and only the time is wrong
  row,       ///< slurmctld does not know the job; its row in the accounting, if there is one, gets an end
};
std::vector<std::string> enter_command(Enter how, const std::string& job, const End& end);
/// What the accounting still lacks, as kEnterEnd says with -settle.
struct Settled {
  bool all = false;                  ///< nothing is left that could be set right
  std::set<std::string> unrecorded;  ///< jobs that have run, and have no row there
  std::string problem;               ///< why it cannot be set right; empty: it can, or not yet
};
Settled parse_settled(std::string_view text);

/// "exit code 3", "signal 9", "COMPLETED": for people.
std::string describe_end(const End& end);

}  // namespace underway::slurm
