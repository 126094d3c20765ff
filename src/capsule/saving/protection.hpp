#pragma once
/// @file
/// How what a capsule keeps is protected against the death of its host, against mistakes, and against the loss of its
/// disk: known before it runs, from its job with all defaults, and from the nodes that there are. Pure.

#include <string>
#include <vector>

#include "model/cluster.hpp"
#include "overlay/snapshot/snapshot.hpp"
#include "tables/tables.hpp"

namespace underway::saving {

/// Spans of 0: never.
struct Protection {
  std::string ns = "default";
  std::string job, capsule;
  std::string pool;                   ///< of nodes, which it may run on
  bool keeps_nothing = false;         ///< it starts elsewhere with nothing, and nothing of it is saved
  bool standby = false;               ///< another node is to have a copy of what it keeps
  std::string standby_node;           ///< its name; empty: the server has not chosen one yet
  bool standby_chosen = false;        ///< somebody has chosen it, and the job counts no more for the copies
  std::int64_t others = 0;            ///< nodes that could have the copy; told by look_for_nodes
  Duration copies_every{0};           ///< of what is written in place; the rest is copied at once
  Duration loss{0};                   ///< that a copy is older is told
  Duration rpo{0};                    ///< from an older one nothing is started
  Duration snapshots_every{0};        ///< by default, on a node that has not told: as seldom as it may be
  overlay::Retention snapshots_kept;  ///< all 0: all
  bool snapshots_by_default = false;
  std::string repository;  ///< of backups; empty: none is named
  Duration backups_every{0};
  overlay::Retention backups_kept;
  Duration drills_every{0};
  std::vector<std::string> warnings;  ///< what nothing protects from, each a sentence; told by look_for_nodes
};

/// What a job asks for, for each of its capsules; of a config that is not valid nothing is told. As long as the job is.
std::vector<Protection> protections_of(const model::Job& job);

/// Puts in what the tables know: who stands by, and who could. `planned`: the cluster as it is to be, whose hosts need
/// not be there yet; null: as it is.
void look_for_nodes(std::vector<Protection>& protections, const tables::Tables& tables, const model::Cluster* planned);

const describe::Structure& description(describe::Tag<Protection>);

}  // namespace underway::saving
