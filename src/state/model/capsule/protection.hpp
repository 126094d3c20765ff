#pragma once
/// @file
/// How what a capsule keeps is protected against the death of its host, against mistakes, and against the loss of its
/// disk.

#include "model/capsule/saved.hpp"

namespace underway::model {

/// Spans of 0: never.
struct Protection {
  std::string ns = "default";
  std::string job, capsule;
  std::string pool;             ///< of nodes, which it may run on
  bool keeps_nothing = false;   ///< it starts elsewhere with nothing, and nothing of it is saved
  bool standby = false;         ///< another node is to have a copy of what it keeps
  std::string standby_node;     ///< its name; empty: the server has not chosen one yet
  bool standby_chosen = false;  ///< somebody has chosen it, and the job counts no more for the copies
  std::int64_t others = 0;      ///< nodes that could have the copy; told by look_for_nodes
  Duration copies_every{0};     ///< of what is written in place; the rest is copied at once
  Duration loss{0};             ///< that a copy is older is told
  Duration rpo{0};              ///< from an older one nothing is started
  Duration snapshots_every{0};  ///< by default, on a node that has not told: as seldom as it may be
  Retention snapshots_kept;     ///< all 0: all
  bool snapshots_by_default = false;
  std::string repository;  ///< of backups; empty: none is named
  Duration backups_every{0};
  Retention backups_kept;
  Duration drills_every{0};
  std::vector<std::string> warnings;  ///< what nothing protects from, each a sentence; told by look_for_nodes
};

const describe::Structure& description(describe::Tag<Protection>);

}  // namespace underway::model
