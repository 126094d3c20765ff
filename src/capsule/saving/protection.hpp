#pragma once
/// @file
/// How what a capsule keeps is protected against the death of its host, against mistakes, and against the loss of its
/// disk: known before it runs, from its job with all defaults, and from the nodes that there are. Pure.

#include <string>
#include <vector>

#include "model/capsule/protection.hpp"
#include "model/cluster.hpp"
#include "overlay/snapshot/snapshot.hpp"
#include "tables/tables.hpp"

namespace underway::saving {

using model::Protection;

/// What a job asks for, for each of its capsules; of a config that is not valid nothing is told. As long as the job is.
std::vector<Protection> protections_of(const model::Job& job);

/// Puts in what the tables know: who stands by, and who could. `planned`: the cluster as it is to be, whose hosts need
/// not be there yet; null: as it is.
void look_for_nodes(std::vector<Protection>& protections, const tables::Tables& tables, const model::Cluster* planned);

}  // namespace underway::saving
