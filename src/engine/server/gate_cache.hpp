#pragma once
/// @file
/// `depends_on`, asked about many allocations at once.

#include <unordered_map>

#include "server/job/dependencies.hpp"

namespace underway::server {

/// What gates ask of the tables, and what they were answered. When the orders of a node with a hundred allocations are
/// made, each gate asks which jobs work there: the first one has the node walked over, the others find the answer here.
/// Good until the next change of the tables.
class GateCache {
 public:
  explicit GateCache(const tables::Tables& tables) : tables_(tables) {}
  const tables::Tables& tables() const { return tables_; }

  /// Those that were asked to stop, and are not known to have done so.
  const std::vector<const model::Allocation*>& stopping_on(const std::string& node_id);
  /// An earlier one of the same name, on whichever node, that may run still. Null: there is none.
  const model::Allocation* earlier_that_may_run(const model::Allocation& allocation);
  /// Whether an allocation of the job runs, and is ready.
  bool works_on(const std::string& node_id, const std::string& ns, const std::string& job_id);
  bool works_somewhere(const std::string& ns, const std::string& job_id);

 private:
  using JobKey = std::pair<std::string, std::string>;  ///< namespace, id
  struct OnNode {
    std::vector<const model::Allocation*> stopping;
    std::set<JobKey> working;
  };
  const OnNode& on(const std::string& node_id);

  const tables::Tables& tables_;
  std::unordered_map<std::string, OnNode> nodes_;
  std::map<JobKey, bool> somewhere_;
  std::map<JobKey, std::unordered_multimap<std::string_view, const model::Allocation*>> may_run_;  ///< by name
};

/// As those of one allocation (dependencies.hpp).
Gate gate_of(GateCache&, Dependents&, const model::Allocation&);
std::optional<std::string> waiting_for(GateCache&, const model::Allocation&, const Guard* guard);

}  // namespace underway::server
