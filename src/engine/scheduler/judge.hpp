#pragma once
/// @file
/// What each node has to say to one more allocation of a group: for people who ask why something is not placed.

#include "scheduler/fleet/fleet.hpp"

namespace underway::scheduler {

struct NodeVerdict {
  tables::Row<model::Node> node;
  std::string against;  ///< in words: "memory: asks 4096 MiB, 512 MiB are free"; empty: it could take one
};

/// Every node, by id, as things are now. The fleet must follow the same tables; it is left as it was.
std::vector<NodeVerdict> judge_nodes(const tables::Tables& tables, Fleet& fleet, const tables::Row<model::Job>& job,
                                     const model::TaskGroup& group);

/// What a filter of the scheduler (AllocMetric::constraint_filtered) means, in words.
std::string filter_in_words(const std::string& reason);

}  // namespace underway::scheduler
