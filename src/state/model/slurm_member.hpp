#pragma once
/// @file
/// Pools whose hosts join Slurm by themselves (`slurm` of a pool), and how far each of their hosts is with that.

#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/json/describe.hpp"

namespace underway::model {

/// `slurm` of a pool: its hosts become nodes of Slurm when they are ready, and leave it before they go.
struct SlurmJoin {
  std::string join = "auto";                      ///< auto, dynamic, cloud
  std::int64_t most = 0;                          ///< hosts that the pool will ever have; 0: as many as it has
  std::vector<std::string> features;              ///< of its nodes, besides the pool's name
  std::vector<std::string> configuration;         ///< names of files of Slurm's that its hosts have themselves
  std::vector<std::string> mounts;                ///< directories at which something has to be mounted
  std::vector<std::string> programs;              ///< paths of what has to be there and executable
  Duration clock_skew = std::chrono::seconds(5);  ///< that a host's clock may be off, either way
  /// What is put back when somebody changes it by scontrol, of kRevertible. What is not is adopted.
  std::vector<std::string> revert = {"address", "released", "unknown"};

  /// All problems, each behind `where`; empty: it is valid.
  std::vector<std::string> problems(const std::string& where, std::int64_t size, const std::string& hostname) const;
};

/// Of a node, what is compared with what Slurm has; see slurm/elastic/difference.hpp.
inline constexpr const char* kRevertible[] = {"address", "features", "weight", "released", "unknown", "foreign"};

/// How far Slurm is with a host.
enum class SlurmMembership {
  waits,     ///< its slurmd may not be started yet
  admitted,  ///< Slurm was told of it, and its slurmd may run
  resting,   ///< no job comes to it any more, and those that are there are suspended: its machine may sleep
  leaving,   ///< no job comes to it any more, and those that are there are waited for
  released,  ///< nothing is there: its machine may be stopped
  gone,      ///< Slurm does not look for it any more: its address may be another's
};

/// Kept from before Slurm hears of a host until the host is forgotten: a host that has one is not stopped before it is
/// `released`, and its addresses are given to no other before it is `gone`.
struct SlurmMember {
  std::string cluster, host;
  SlurmMembership status = SlurmMembership::waits;
  std::string description;               ///< why it is so, for people; empty: there is nothing to say
  std::vector<std::string> differences;  ///< what somebody changed by scontrol, and stays so
  std::vector<std::string> suspended;    ///< its Slurm jobs that sleep with it, and are to go on with it
  std::string node_id;                   ///< of the host's agent, when it was admitted
  std::string boot;                      ///< of its machine, then: boot_id of its kernel; empty: it did not say
  std::int64_t admitted_at = 0;          ///< ns since the epoch; 0: never
  std::int64_t updated_at = 0;           ///< ns since the epoch
};

const describe::Enumeration& description(describe::Tag<SlurmMembership>);
const describe::Structure& description(describe::Tag<SlurmJoin>);
const describe::Structure& description(describe::Tag<SlurmMember>);

}  // namespace underway::model
