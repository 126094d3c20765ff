#pragma once
/// @file
/// The job that holds the hosts of a pool of virtual machines: a group for each host, with one task of driver "qemu".
/// So a host is an allocation: the scheduler places it where there is room, the agent of that node runs it, and one
/// that comes or goes leaves the others as they are. What a machine is told at its boot (guest/seed.hpp) holds its join
/// token, so it lies in a variable of the job, and only the task reads it.

#include "guest/seed.hpp"
#include "host/reconcile.hpp"

namespace underway::host {

/// Whether its machine is to be held: of those that are neither asked for nor to go.
bool is_held(const model::Host& host);
/// Of a host's seed: "nomad/jobs/demo-burst-hosts/v1".
std::string seed_variable(const std::string& cluster, const std::string& pool, const std::string& host);

/// Nothing when no host is to be held. `hosts` are those of the pool, each with its addresses.
std::optional<model::Job> pool_job(const model::Cluster& cluster, const model::Pool& pool,
                                   const std::vector<model::Host>& hosts);

/// Has the machines of hosts that there are stay as they were made, in a pool whose hosts join Slurm: another
/// declaration would boot all of them anew under their Slurm jobs. A host gets what is declared now when it is made
/// anew. Returns those that have something else.
std::set<std::string> keep_made(model::Job& job, const model::Job& current, const model::Pool& pool,
                                const std::vector<model::Host>& hosts);

struct AgentSeed {
  std::string server;      ///< where the agent links to: "https://10.77.0.1:4646"
  std::string join_token;  ///< good for one host
  std::string hosts_file;  ///< of names that a batch system looks up; empty: the machine knows its own
};
/// What the machine of a host does at its boot: its links, and an agent that joins. Another token is another instance:
/// a machine that is made anew on its old disk joins again.
guest::Seed host_seed(const model::Cluster& cluster, const model::Pool& pool, const model::Host& host,
                      const AgentSeed& agent);

/// /etc/hosts with the cluster's hosts that are no virtual machines: a controller, a file server. Empty when that is
/// more than a seed has room for (kVariableBytes); then a declared file keeps the names.
std::string hosts_file(const model::Cluster& cluster, const std::vector<tables::Row<model::Host>>& hosts);

/// What the tables say of a host's machine.
struct MachineState {
  std::string node;                                 ///< that has it, or is to have it
  bool runs = false;                                ///< its QEMU
  bool asleep = false;                              ///< its memory is on that node's disk, and its QEMU has ended
  bool arrived = false;                             ///< it came there from another one, with memory and disks
  bool gone = true;                                 ///< no node has anything of it
  std::string why = "no node has room for it yet";  ///< when it does not run, for people
};
/// Of all machines of a pool that there is anything to say of, by host.
std::map<std::string, MachineState> machine_states(const tables::Tables& tables, const std::string& cluster,
                                                   const std::string& pool);

/// A host's seed is there: its machine is being made. One that was asked to go meanwhile keeps that wish.
struct MachinePrepared {
  std::string cluster, name;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const MachinePrepared& request,
                                         const server::Context& context);

/// How the hosts of a pool stand, as their machines do. A machine that is placed on another node has none of the disk
/// that it had: the node that it was is forgotten, and it is told anew how to join.
struct RecordMachines {
  std::string cluster, pool;
  std::set<std::string> outdated;  ///< hosts whose machines are as they were declared before
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const RecordMachines& request,
                                         const server::Context& context);

}  // namespace underway::host
