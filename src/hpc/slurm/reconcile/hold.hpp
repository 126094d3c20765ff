#pragma once
/// @file
/// A file that slurm.conf includes, and what stands in it: partitions start down, and nodes are given all the time that
/// they need, until somebody has compared slurmctld's beliefs with the nodes. slurm.conf(5): without -R slurmctld takes
/// the state of partitions from its configuration; SlurmdTimeout may not exceed 65533.
///
/// Who writes it also keeps slurmctld from speaking to its nodes, by the rule kHoldRule: what it knows of a node's
/// steps it asks 3 s after it has started, and has those killed that it does not know (reconcile.hpp).

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"

namespace underway::slurm {

inline constexpr const char* kHoldFile = "underway-hold.conf";
/// SlurmdTimeout, in seconds, while slurmctld is held. No site has it: it is how a hold is known.
inline constexpr int kHeldTimeout = 65533;
/// The same while it does not reach nodes that run its jobs. It never takes a node for dead then, and looks for them
/// all every 100 s; with a long one it would look for them after a third of that (slurmctld/controller.c of 22.05).
inline constexpr int kNeverTimeout = 0;

/// Preference of `ip rule add pref 6818 ipproto 6 dport 6818 prohibit`, 6818 being slurmd's port.
inline constexpr int kHoldRule = 6818;

struct Hold {
  std::optional<int> timeout = kHeldTimeout;  ///< nodes that do not answer are not taken for dead; nothing: the site's
  bool partitions_down = true;                ///< nothing is started
  std::int64_t first_job = 0;                 ///< ids below are not given out; 0: as slurmctld has it
};
/// The file's text. It has to be included before the partitions are declared.
std::string hold_text(const Hold& hold);
/// The file's text while nothing is held.
std::string no_hold_text();

/// A partition and whether it takes jobs.
struct Partition {
  std::string name;
  bool up = false;
  bool operator==(const Partition&) const = default;
};
/// Asks sinfo for all partitions; it tells of their nodes by state too.
std::vector<std::string> partitions_command();
std::vector<Partition> parse_partitions(std::string_view text);
/// Of the same: nodes that do not answer slurmctld, and that it does not take for dead yet.
std::set<std::string> parse_silent(std::string_view text);
/// Has a partition take jobs, or none.
std::vector<std::string> partition_command(const std::string& name, bool up);

/// Asks slurmctld for its configuration, as it is in force.
std::vector<std::string> config_command();
/// The value of `key` in what config_command() prints; empty: it is not there.
std::string setting(std::string_view config, std::string_view key);
/// Whether slurmctld runs with a hold: what config_command() prints.
bool is_held(std::string_view config);

/// When slurmctld was started, or from 23.11 on told to read its configuration again, for which it is executed anew:
/// the value of BOOT_TIME of the same; empty: it does not say.
std::string parse_boot_time(std::string_view config);
/// Whether slurmctld takes nodes for dead that do not answer: the same.
bool gives_nodes_up(std::string_view config);
/// NEXT_JOB_ID of the same; 0: it does not say.
std::int64_t parse_next_job(std::string_view config);
/// FirstJobId of the same; 0: it has its default. It has to stay for as long as slurmctld runs: 20.11 and 22.05 that
/// are told to read a configuration without it go back to the numbers from before.
std::int64_t parse_first_job(std::string_view config);

/// The number from which slurmctld has to go on so that none is given twice: it starts from `has`, gave out those below
/// `seen` when it was last looked at (0: nobody has looked since the server was started), and what is written down says
/// that it is below `bound`. 0: as it will by itself. A job leaves files named by its number: a second one of that
/// number would write over them.
std::int64_t first_job_after(std::int64_t has, std::int64_t seen, std::int64_t bound);
/// What is to be written down for `seen`: a bound that lasts for a while, so that not every job is a write.
std::int64_t job_bound(std::int64_t seen);

/// When slurmctld's state was written that it was started from: who writes the file says "# state of SECONDS" in it.
std::optional<TimePoint> parse_state_time(std::string_view hold);
/// How much was not seen by it, of what was: `last_look` is when slurmctld last answered and was not held. Nobody has
/// looked since the server was started: `now`, if the numbers say that it gave out some since.
Duration behind(std::optional<TimePoint> state, std::optional<TimePoint> last_look, TimePoint now, std::int64_t has,
                std::int64_t bound);

}  // namespace underway::slurm
