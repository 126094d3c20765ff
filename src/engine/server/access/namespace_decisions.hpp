#pragma once
/// @file
/// Decisions about namespaces, and whether a job may stand in its own.

#include "model/access/namespace.hpp"
#include "server/decision.hpp"

namespace underway::server {

/// `default` always is, as if it had been made with nothing said.
std::optional<model::Namespace> find_namespace(const Tables&, const std::string& name);
/// As refuse_by_namespace, of the jobs that will hold the virtual machines of the cluster's pools, and of Slurm jobs.
void refuse_machines_by_namespace(const Tables&, const model::Cluster&, const std::vector<model::Namespace>& coming,
                                  const Context&);
/// `default`, those with a row, in the order of their names.
std::vector<model::Namespace> namespaces(const Tables&);

/// A new namespace, or the one of this name changed. Throws invalid with all problems.
struct PutNamespace {
  model::Namespace ns;
};
Decision<Nothing> decide(const Tables&, const PutNamespace&, const Context&);
/// Throws not_found; conflict for `default`, and while jobs in it are not over.
struct DeleteNamespace {
  std::string name;
};
Decision<Nothing> decide(const Tables&, const DeleteNamespace&, const Context&);

/// Throws invalid when the job's namespace does not exist; denied, with every reason and what would allow it, when the
/// namespace does not allow a task its driver, its user, or to be root by raw_exec. `coming` stand for those in the
/// tables: they are made together with the job.
void refuse_by_namespace(const Tables&, const model::Job& job, const std::vector<model::Namespace>& coming,
                         const Context&);

/// What differs, if anything: indexes aside.
bool same_namespace(const model::Namespace& a, const model::Namespace& b);

}  // namespace underway::server
