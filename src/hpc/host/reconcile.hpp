#pragma once
/// @file
/// From the pools of a cluster to the hosts there shall be. Pure: the controller carries it out, `plan` shows it.

#include "host/provider.hpp"
#include "server/decision.hpp"

namespace underway::host {

struct HostChanges {
  std::vector<model::Host> added;    ///< with their addresses, pending
  std::vector<std::string> removed;  ///< names
};

/// What is missing and what is too much. Hosts that stay keep their addresses.
/// Errors: exhausted when a network has no address left; invalid when its CIDR is none.
HostChanges compare(const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& existing);

/// The host records of all clusters made to follow their pools. A cluster that is being taken down keeps its hosts
/// while `may_empty(cluster)` is false: its jobs are still stopping.
server::Decision<server::Nothing> decide_hosts(const tables::Tables& tables,
                                               const std::function<bool(const model::Cluster&)>& may_empty,
                                               const server::Context& context);

/// Whether no allocation of the cluster's jobs runs any more.
bool jobs_ended(const tables::Tables& tables, const model::Cluster& cluster);

/// Forgets a host that is gone, its node and what ran there.
server::Decision<server::Nothing> decide_host_gone(const tables::Tables& tables, const std::string& cluster,
                                                   const std::string& name, const server::Context& context);

/// A host is gone though it is wanted: the node that it was is forgotten with what ran there, and it is made again.
server::Decision<server::Nothing> decide_host_lost(const tables::Tables& tables, const std::string& cluster,
                                                   const std::string& name, const std::string& reason,
                                                   const server::Context& context);

/// A host runs, but its agent has not joined: `words` are the last that it said.
server::Decision<server::Nothing> decide_host_waits(const tables::Tables& tables, const std::string& cluster,
                                                    const std::string& name, const std::string& words);

/// Forgets a cluster that has no hosts any more, and its jobs.
server::Decision<server::Nothing> decide_cluster_gone(const tables::Tables& tables, const std::string& name);

ClusterSpec cluster_spec(const model::Cluster& cluster);
/// `host` as the provider is to make it; without agent.
HostSpec host_spec(const model::Cluster& cluster, const model::Host& host);
/// Names and addresses of every host that the cluster has or is about to have.
std::map<std::string, std::map<std::string, net::Cidr>> announcement(
    const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& hosts);

}  // namespace underway::host
