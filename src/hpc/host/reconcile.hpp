#pragma once
/// @file
/// From the pools of a cluster to the hosts there shall be. Pure: the controller carries it out, `plan` shows it.

#include "host/provider.hpp"
#include "server/request.hpp"

namespace underway::host {

struct HostChanges {
  std::vector<model::Host> added;    ///< with their addresses, pending
  std::vector<std::string> removed;  ///< names
};

/// Names of the hosts that each pool is to have, by the pool.
using WantedHosts = std::map<std::string, std::vector<std::string>>;
/// As the pools are declared; of those that grow, as was decided last (model/elastic/growth.hpp).
WantedHosts wanted_hosts(const tables::Tables& tables, const model::Cluster& cluster);

/// What is missing and what is too much. Hosts that stay keep their addresses.
/// Errors: exhausted when a network has no address left; invalid when its CIDR is none.
HostChanges compare(const model::Cluster& cluster, const WantedHosts& wanted,
                    const std::vector<tables::Row<model::Host>>& existing);

/// The host records of all clusters made to follow their pools. A host that was to go, is wanted again, and has not
/// been let go by Slurm yet, stays. A cluster that is being taken down keeps its hosts while `may_empty` is false: its
/// jobs are still stopping.
struct FollowPools {
  std::function<bool(const tables::Tables&, const model::Cluster&)> may_empty;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const FollowPools& request,
                                         const server::Context& context);

/// Whether the machine of a host that is to go may be stopped: Slurm has nothing there any more, or never had, or the
/// whole cluster goes.
bool may_stop(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host);
/// Whether a host whose machine is stopped may be forgotten: its addresses are given to others then.
bool may_forget(const tables::Tables& tables, const model::Cluster& cluster, const model::Host& host);

/// Whether no allocation of the cluster's jobs runs any more.
bool jobs_ended(const tables::Tables& tables, const model::Cluster& cluster);

/// The machine of a host that was to go is stopped. It is forgotten, or kept as long as may_forget() says.
struct HostStopped {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostStopped& request,
                                         const server::Context& context);

/// Forgets a host that is gone, its node and what ran there.
struct HostGone {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostGone& request,
                                         const server::Context& context);

/// A host is gone though it is wanted: the node that it was is forgotten with what ran there, and it is made again.
struct HostLost {
  std::string cluster, name, reason;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostLost& request,
                                         const server::Context& context);

/// A host runs, but its agent has not joined: `words` are the last that it said.
struct HostWaits {
  std::string cluster, name, words;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const HostWaits& request,
                                         const server::Context& context);

/// Adds what forgets the node that a host was, with all that ran there; its jobs are evaluated.
void forget_node(std::vector<server::Change>& changes, const tables::Tables& tables, const std::string& cluster,
                 const std::string& name, const server::Context& context);

/// How a host stands, as its provider has it.
struct RecordHost {
  std::string cluster, name;
  model::HostStatus status = model::HostStatus::pending;
  std::string description;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const RecordHost& request,
                                         const server::Context& context);

/// A host that is to go was passed over while it was busy: putting its row again makes the controller look once more.
struct RevisitHost {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const RevisitHost& request,
                                         const server::Context& context);

/// Forgets a cluster that has no hosts any more, and its jobs.
struct ClusterGone {
  std::string name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const ClusterGone& request,
                                         const server::Context& context);

ClusterSpec cluster_spec(const model::Cluster& cluster);
/// `host` as the provider is to make it; without agent.
HostSpec host_spec(const model::Cluster& cluster, const model::Host& host);
/// Names and addresses of every host that the cluster has or is about to have; of those that are to go, of the ones in
/// `still_there`.
std::map<std::string, std::map<std::string, net::Cidr>> announcement(const model::Cluster& cluster,
                                                                     const std::vector<tables::Row<model::Host>>& hosts,
                                                                     const std::set<std::string>& still_there = {});
/// Adds those that pools which join Slurm may have and that are not there, at an address that is nobody's: slurmctld
/// looks up every name that slurm.conf has, and stands still for 10 s for one that it does not find.
void announce_absent(std::map<std::string, std::map<std::string, net::Cidr>>& announced, const model::Cluster& cluster);

}  // namespace underway::host
