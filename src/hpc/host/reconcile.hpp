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

/// What is missing and what is too much. Hosts that stay keep their addresses.
/// Errors: exhausted when a network has no address left; invalid when its CIDR is none.
HostChanges compare(const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& existing);

/// The host records of all clusters made to follow their pools. A cluster that is being taken down keeps its hosts
/// while `may_empty` is false: its jobs are still stopping.
struct FollowPools {
  std::function<bool(const tables::Tables&, const model::Cluster&)> may_empty;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const FollowPools& request,
                                         const server::Context& context);

/// Whether no allocation of the cluster's jobs runs any more.
bool jobs_ended(const tables::Tables& tables, const model::Cluster& cluster);

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
/// Names and addresses of every host that the cluster has or is about to have.
std::map<std::string, std::map<std::string, net::Cidr>> announcement(
    const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& hosts);

}  // namespace underway::host
