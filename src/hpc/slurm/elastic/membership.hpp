#pragma once
/// @file
/// What follows for the hosts of a pool that joins Slurm, from what the tables, Slurm and the hosts say at one moment.
/// Pure; member_controller.hpp carries it out, looks again, and so on, until Slurm's nodes are as the hosts are.
///
/// A host has a row (model::SlurmMember) before Slurm hears of it, and loses it when it is forgotten. Whoever stops its
/// machine waits until the row says `released`, and whoever gives its addresses away until it says `gone`: a slurmctld
/// that is away keeps hosts, it does not lose jobs.
///
/// Of a pool that Slurm itself asks for (PoolElastic::asked_by) Slurm's power saving has the nodes that are not there,
/// and says which go: nothing is set down, nor drained.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/cluster.hpp"
#include "slurm/elastic/difference.hpp"
#include "slurm/elastic/look.hpp"
#include "slurm/sleep/node_sleep.hpp"

namespace underway::slurm {

/// A host as the tables have it.
struct MemberHost {
  std::string name;
  std::string address;    ///< where slurmctld reaches it; empty: nowhere
  bool wanted = true;     ///< false: it is to go
  bool runs = true;       ///< its machine, as far as anybody knows
  bool to_sleep = false;  ///< its machine
  bool asleep = false;    ///< it does; `runs` says nothing then
  bool moves = false;     ///< only for as long as it is on its way to another node
  std::string node_id;    ///< of its agent; empty: it has not joined
  std::optional<model::SlurmMember> known;
  /// Why it may have no jobs; nothing: nobody could look, for `unseen`.
  std::optional<std::vector<std::string>> reasons;
  std::string unseen;
  bool gate_open = false;  ///< kAdmittedFile is there
  std::string boot = {};   ///< boot_id of its machine's kernel; empty: it is not known
};

/// What Slurm says.
struct SlurmView {
  std::vector<NodeRecord> records;
  std::map<std::string, std::vector<std::string>> jobs;  ///< by node, of those that are to go
  std::vector<NodeJob> sleepers = {};                    ///< of nodes that sleep, or fall asleep or wake
};

struct MembershipPlan {
  std::map<std::string, model::SlurmMember> members;  ///< as they are to be written down, once the rest was done
  std::vector<Command> commands;                      ///< to Slurm, in this order
  std::vector<std::string> open;                      ///< hosts whose gate is to be opened then
  std::map<std::string, std::string> restart;         ///< hosts whose slurmd has to register anew, with the reason
  std::vector<std::string> told;                      ///< what was changed by somebody and is put back, for the log
  bool settled = true;                                ///< nothing is under way: there is no need to look soon
};

/// Whether Slurm has to know that its machine sleeps, or that it does no more.
bool sleep_concerns(const MemberHost& host);

/// How pool `pool` joins, given what Slurm has: "auto" is read off its nodes, as slurm.conf is the site's.
JoinMode mode_of(const model::Pool& pool, const std::vector<NodeRecord>& records);
/// The nodes that are declared of a pool's hosts, by their names, besides address and presence.
DeclaredNode declared_node(const model::Pool& pool, JoinMode mode, const std::string& name);

/// `pool`: null when it is declared no more, and its hosts are to go. `now`: ns since the epoch. `elsewhere`: hosts of
/// the cluster's other pools, with which these share Slurm jobs; of them it counts whether they sleep, and whether
/// `reasons` is there, as it is where somebody was heard.
MembershipPlan plan_members(const model::Pool* pool, const std::string& cluster, const std::vector<MemberHost>& hosts,
                            const SlurmView& slurm, std::int64_t now, const std::vector<MemberHost>& elsewhere = {});
/// The same when Slurm cannot be asked, for `why`: nothing is done, and those who wait learn of it.
MembershipPlan plan_without_slurm(const std::string& cluster, const std::vector<MemberHost>& hosts,
                                  const std::string& why, std::int64_t now);
/// And when no job of the cluster runs Slurm: hosts may go.
MembershipPlan plan_where_no_slurm_is(const std::string& cluster, const std::vector<MemberHost>& hosts,
                                      std::int64_t now);

/// What a host of the pool must have; `configuration`: the version that slurmctld has.
Wanted wanted_of(const model::Pool& pool, const std::string& configuration);

}  // namespace underway::slurm
