#pragma once
/// @file
/// What Slurm jobs ask for, and what Slurm gave them, as squeue prints it. Comments are whatever users write: a line
/// break in one, and what looks like another job behind it, are printed as they are (seen with 22.05).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace underway::machines {

using Command = std::vector<std::string>;

/// "machines:NAME*3"
struct Wish {
  std::string set;
  std::int64_t per_node = 0;  ///< 0: as is declared
  bool operator==(const Wish&) const = default;
};

/// Of a comment: neither, when it asks for no machines.
struct Asked {
  std::optional<Wish> wish;
  std::string refusal;  ///< why it cannot be followed, for the user
  bool operator==(const Asked&) const = default;
};
/// Its first line is looked at, and of that 4 KiB; words end at blanks, commas and semicolons.
Asked read_comment(std::string_view comment);

/// One that has nodes.
struct SlurmJob {
  std::string id;                  ///< that its prolog is told, too: of a task of an array its own
  std::string name;                ///< "17", "17_3": of the last task of an array the id would mean them all
  std::string state;               ///< "RUNNING", "COMPLETING"
  std::int64_t started = 0;        ///< seconds since the epoch: a job that is started again has another one
  std::vector<std::string> nodes;  ///< of one that asks for machines
  Asked asked;
  /// Whether its nodes are its own and no end is under way.
  bool lives() const;
  bool operator==(const SlurmJob&) const = default;
};

/// Asks for all jobs that have nodes. `mark`: what no user knows; jobs begin with it, and nothing else does.
Command jobs_command(const std::string& mark);
/// A line of more than 64 KiB is left out. A job with more than 1000 nodes has none.
std::vector<SlurmJob> parse_jobs(std::string_view text, const std::string& mark);

/// What a job has on one of its nodes.
struct Share {
  std::int64_t cpus = 0;       ///< all threads of its cores, also where Slurm counts cores
  std::int64_t memory_mb = 0;  ///< MiB; 0: Slurm does not count memory
  bool operator==(const Share&) const = default;
};

/// What a job has.
struct Given {
  std::int64_t cpus = 0;                  ///< on all of its nodes together
  std::optional<std::int64_t> memory_mb;  ///< likewise; nothing: Slurm does not count memory
  std::map<std::string, Share> nodes;     ///< that Slurm tells of
  /// A node is told of twice: its user wrote into the job's name or comment what reads as if Slurm said so.
  bool doubtful = false;
  bool operator==(const Given&) const = default;
};
/// `id`, `name`: as of SlurmJob.
Command given_command(const std::string& id, const std::string& name);
/// "17   cpu=2,mem=1.50G,node=2,billing=2", a line of each part of a heterogeneous job, and then, of this one alone,
/// "Nodes=c[1-2] CPU_IDs=0-1,4 Mem=750 GRES=". Nothing: Slurm does not tell of it.
std::optional<Given> parse_given(std::string_view text, const std::string& id);

/// Ends a job, with a reason that `scontrol show job` tells.
std::vector<Command> refuse_commands(const std::string& name, const std::string& reason);

}  // namespace underway::machines
