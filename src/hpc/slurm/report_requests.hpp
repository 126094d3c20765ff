#pragma once
/// @file
/// What the reconciler writes down of a slurmctld, in its report (model/slurm_report.hpp). Each puts one thing into the
/// report as it is by then.

#include "server/request.hpp"
#include "slurm/commands.hpp"
#include "slurm/reconcile/reconcile.hpp"

namespace underway::slurm {

/// These nodes are not reached by slurmctld, while jobs run there.
struct NoteCutOff {
  Place place;
  std::vector<std::string> nodes;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteCutOff& request,
                                         const server::Context& context);

/// The number that the next Slurm job gets: what the report has is a bound above it.
struct NoteNextJob {
  Place place;
  std::int64_t next = 0;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteNextJob& request,
                                         const server::Context& context);

/// What came of a comparison with the nodes. `boot`: of the slurmctld that was compared.
struct NoteComparison {
  Place place;
  std::string boot;
  std::vector<Finding> findings;
  std::map<std::string, std::set<std::string>> spare;  ///< jobs that it does not know, by host
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteComparison& request,
                                         const server::Context& context);

/// Something else for people to know. Of a slurmctld without a report it is passed over.
struct AddFindings {
  Place place;
  std::vector<std::string> texts;
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const AddFindings& request,
                                         const server::Context& context);

/// Jobs that were spared have ended: what is told of each takes the place of its finding.
struct NoteEnded {
  Place place;
  std::map<std::string, std::string> told;  ///< by job
};
server::Decision<server::Nothing> decide(const tables::Tables& tables, const NoteEnded& request,
                                         const server::Context& context);

}  // namespace underway::slurm
