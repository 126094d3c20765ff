#pragma once
/// @file
/// Whether a node may have jobs: what has to be so is compared with what the node says of itself, all at once and in
/// words, and Slurm holds it with that reason until it is so. A node that looks healthy to slurmd and lacks its file
/// system fails every job that it gets, and gets the more of them the faster it fails them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "slurm/elastic/members.hpp"

namespace underway::slurm {

/// The version of a configuration: the first 16 digits of the SHA-256 of its files, by path. A node carries the version
/// of what it has, the cluster that of what there is now.
std::string configuration_version(const std::map<std::string, std::string>& files);

/// What a node must have.
struct Wanted {
  std::string configuration;                      ///< its version; empty: of no matter
  Duration clock_skew = std::chrono::seconds(5);  ///< at most; munge refuses credentials from 300 s on (munged(8))
  std::vector<std::string> mounts;                ///< directories at which something is mounted
  std::vector<std::string> programs;              ///< paths of what has to be there and executable
  std::int64_t memory_mb = 0;                     ///< MiB as declared to Slurm
  std::int64_t cpus = 0;                          ///< as declared
};
/// What a node says of itself. What it does not say is missing.
struct NodeReport {
  std::string configuration;
  /// The node's clock less the server's, taken in the middle of a question and its answer.
  std::optional<Duration> clock_ahead;
  /// By how much that may be wrong, either way: half of the time that the answer took. A node that was busy for half a
  /// minute before it read its clock seems to be a quarter of a minute ahead.
  Duration clock_error{0};
  std::vector<std::string> mounts, programs;  ///< those of the wanted ones that are there
  std::int64_t memory_mb = 0;
  std::int64_t cpus = 0;
  std::map<std::string, std::string> failed;  ///< checks of the site by name, with what they said
};
/// All reasons why it is not ready, as clauses; empty: it is.
std::vector<std::string> judge(const NodeReport& report, const Wanted& wanted);

/// The reasons as Slurm's Reason, behind kNotReadyPrefix: at most 200 bytes, whole reasons, then how many more there
/// are. No '|', quote or end of line is in it.
std::string reason_text(const std::vector<std::string>& reasons);

enum class GateStep : std::uint8_t {
  none,
  hold,      ///< no job may come, for these reasons; jobs that are there go on
  admit,     ///< jobs may come
  start,     ///< slurmd may be started: the node is not known to Slurm, or has not registered
  keep_off,  ///< slurmd is not started, for these reasons
};
struct GateVerdict {
  GateStep step = GateStep::none;
  Command command;  ///< of hold and admit
};
/// What follows for a node. `record`: what Slurm says of it; null: it does not know it. A node that somebody else
/// holds, or that is going, is left alone. `started`: whether its slurmd was told to run.
GateVerdict decide_gate(const std::string& node, const NodeRecord* record, bool started,
                        const std::vector<std::string>& reasons);

}  // namespace underway::slurm
