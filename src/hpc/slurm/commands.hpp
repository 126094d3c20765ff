#pragma once
/// @file
/// Commands that are run on nodes: beside slurmctld, where munge and the configuration are, and on hosts.

#include "server/server.hpp"

namespace underway::slurm {

/// Where slurmctld runs: an allocation, and the task that is it or, a capsule, holds it.
struct Place {
  tables::Row<model::Allocation> allocation;
  std::string task;
  bool operator==(const Place&) const = default;
  /// "namespace/job": its name in records.
  std::string key() const { return allocation->ns + "/" + allocation->job_id; }
};
/// A task `slurmctld`; or a capsule with a service of that name. Nothing when the allocation has neither.
std::optional<Place> find_slurmctld(const tables::Row<model::Allocation>& allocation);

/// Whether allocations of the job are such.
bool runs_slurmctld(const model::Job& job);

/// In the task's namespaces, with its environment. A slurmctld that was given its own file has it where the task's
/// templates are. Returns what it prints; Error(unavailable) when it fails.
async::awaitable<std::string> run_in_task(server::Server& server, Place place, std::vector<std::string> words);
/// As the agent's user, outside of all tasks.
async::awaitable<std::string> run_on_host(server::Server& server, std::string node_id, std::vector<std::string> words);

}  // namespace underway::slurm
