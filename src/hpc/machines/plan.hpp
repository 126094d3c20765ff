#pragma once
/// @file
/// Which machines of Slurm jobs are to be made, which are to go, and which jobs cannot have what they ask for. Of the
/// tables and of what Slurm says; nothing is remembered beside them, so a server that was killed goes on with its
/// first look.

#include <map>
#include <set>

#include "machines/render.hpp"
#include "tables/tables.hpp"

namespace underway::machines {

/// What the tables say.
struct Facts {
  model::Cluster cluster;                  ///< with `stop` when it is not there any more
  std::map<std::string, NodeOfJob> nodes;  ///< by Slurm's name, which is the host's
  std::vector<Held> held;
};
Facts facts_of(const tables::Tables& tables, const std::string& cluster);
/// Clusters whose jobs may ask for machines, and those that machines of jobs are left of.
std::set<std::string> clusters_with_machines(const tables::Tables& tables);

/// Jobs that are new here, and of which it has to be known what Slurm gave them: their names, by Slurm's number.
std::map<std::string, std::string> jobs_to_ask(const Facts& facts, const std::vector<SlurmJob>& jobs);

struct Refusal {
  std::string slurm_job;
  std::string name;                ///< as of SlurmJob
  std::string reason;              ///< for its user
  std::vector<std::string> nodes;  ///< ids of those whose prolog waits
  bool operator==(const Refusal&) const = default;
};
struct Plan {
  std::vector<Order> make;
  std::vector<std::string> stop;    ///< our jobs
  std::vector<std::string> forget;  ///< our jobs that have ended everywhere
  std::vector<Refusal> refuse;
};
/// `jobs`: all that have nodes; nothing while Slurm does not answer: then nobody knows of a job that it is over.
/// `given` by Slurm's number: of a job that it does not tell of nothing is made yet.
Plan plan(const Facts& facts, const std::optional<std::vector<SlurmJob>>& jobs,
          const std::map<std::string, Given>& given);

}  // namespace underway::machines
