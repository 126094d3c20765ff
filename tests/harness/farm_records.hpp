#pragma once
/// @file
/// What the jobs of a farm wrote while they ran, what the accounting says of them, and whether the two agree.

#include <optional>
#include <string>
#include <vector>

namespace underway::harness {

/// A Slurm job that sbatch acknowledged.
struct PlantedJob {
  std::string id;
  int exit_code = 0;  ///< with which it is to end
};

/// What one job wrote on one host: the truth about it.
struct JobRecord {
  std::string id, host;
  std::vector<long long> started;     ///< each start, seconds since the epoch: one, if all is well
  std::vector<std::string> restarts;  ///< what Slurm said at each start: "0"
  std::optional<long long> ended;     ///< seconds since the epoch
  std::optional<int> exit_code;
  std::vector<std::string> broken;  ///< lines that should not be there: a tick missed, repeated or wrong; a signal
  long long ticks = 0;
  double longest_gap = 0;  ///< seconds between two ticks
};

/// One row of `sacct -D -X -n -P -o JobIDRaw,State,ExitCode,NodeList,Start,End`, times as seconds since the epoch.
struct AccountingRow {
  std::string id, state, exit_code, nodes;
  std::optional<long long> start, end;
};

/// Each line is "HOST ID " and a line of the job's file (farm.cpp has the program that writes them).
std::vector<JobRecord> parse_records(const std::string& text);
std::vector<AccountingRow> parse_accounting(const std::string& text);

/// Whether Slurm will write nothing more about the job of `row`.
bool is_over(const AccountingRow& row);

/// Everything in which the truth, the accounting and what was promised differ: a job lost, run twice, started again,
/// stopped for longer than `gap` seconds, or told otherwise than it was. `unanswered` submissions failed at the client;
/// as many jobs may exist that nobody was told of.
std::vector<std::string> differences(const std::vector<PlantedJob>& planted, const std::vector<JobRecord>& records,
                                     const std::vector<AccountingRow>& rows, double gap, int unanswered = 0);

}  // namespace underway::harness
