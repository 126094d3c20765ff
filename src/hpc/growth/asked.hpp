#pragma once
/// @file
/// Pools that Slurm itself asks for (PoolElastic::asked_by): what its programs say, and what a look at it says, to the
/// hosts that these pools are to have. Pure.
///
/// Slurm's word may come late, twice, in the wrong order or never, as whoever brings it finds no server. So what counts
/// is how Slurm has its nodes: each look puts right what its programs left out, and a word alone takes no host away, as
/// the member controller waits until Slurm has the node powered down (slurm/elastic/members.hpp).

#include "growth/look.hpp"
#include "model/elastic/slurm_asks.hpp"

namespace underway::growth {

/// Which of Slurm's programs says it.
enum class SlurmProgram : std::uint8_t { resume, suspend, resume_fail };

/// Resume has its hosts made, the others have them go; who says the same again changes nothing. Hosts of pools that
/// Slurm is not to ask for, and those that are always there, stay as they are, and are told.
/// Errors: not_found without the cluster; conflict when Slurm asks for none of its pools; invalid for what is no ask,
/// and with the names of all nodes that are no host of the cluster: nothing is done then.
struct AskedBySlurm {
  std::string cluster;
  SlurmProgram program = SlurmProgram::resume;
  model::SlurmAsk ask;
};
server::Decision<model::SlurmAnswer> decide(const tables::Tables& tables, const AskedBySlurm& request,
                                            const server::Context& context);

/// As a look found such pools.
struct PutAsked {
  std::string cluster;
  std::vector<std::string> wanted;  ///< Slurm counts on these, and they are not to be there
  /// And not on these, with since when each was asked for as of the look: not of one that was asked for again since.
  std::map<std::string, std::int64_t> not_wanted;
  bool empty() const { return wanted.empty() && not_wanted.empty(); }
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const PutAsked& request,
                                         const server::Context& context);

/// What a look says of such pools.
struct AskedOutlook {
  PutAsked put;
  std::map<std::string, std::string> failed;  ///< hosts that did not boot, with why, of which Slurm is to be told
  std::int64_t failed_boots = 0;              ///< those, and others of which Slurm knows
};
/// `facts`: from before Slurm was asked. Slurm has a node powering up, or down, before it says so to anybody: a host
/// that is in the facts or not by a word of its program is then never judged by how its node was before that.
AskedOutlook look_at_asked(const ClusterFacts& facts, const SlurmLook& slurm, TimePoint now);

}  // namespace underway::growth
