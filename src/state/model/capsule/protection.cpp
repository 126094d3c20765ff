#include "model/capsule/protection.hpp"

namespace underway::model {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<Protection>) {
  static const Structure s =
      Builder<Protection>("protection", "How what a capsule keeps is protected.")
          .wire<&Protection::ns>("Namespace", "Namespace of the job and of the capsule.")
          .wire<&Protection::job>("JobID", "ID of the job that the capsule belongs to.")
          .wire<&Protection::capsule>("Capsule", "Name of the capsule, within its namespace.")
          .wire<&Protection::pool>("NodePool", "Of the nodes that it may run on.")
          .wire<&Protection::keeps_nothing>("KeepsNothing", "It starts elsewhere with nothing.")
          .wire<&Protection::standby>("Standby", "Another node is to have a copy of what it keeps, and takes over.")
          .wire<&Protection::standby_node>("StandbyNode", "Which one; empty: the server has not chosen yet.")
          .wire<&Protection::standby_chosen>("StandbyChosen", "Somebody has chosen it, not the server.")
          .wire<&Protection::others>("OtherNodes", "How many could have the copy.")
          .wire<&Protection::copies_every>("CopiesEvery", "For what is written in place; the rest is copied at once.")
          .wire<&Protection::loss>("Loss", "That a copy is older is told.")
          .wire<&Protection::rpo>("RPO", "From an older copy nothing is started.")
          .wire<&Protection::snapshots_every>("SnapshotsEvery", "0: only by hand, and before a change.")
          .wire<&Protection::snapshots_kept>("SnapshotsKept", "How many; all 0: all.")
          .wire<&Protection::snapshots_by_default>("SnapshotsByDefault", "The job says nothing of them.")
          .wire<&Protection::repository>("BackupRepository", "Where backups are; empty: no place is named.")
          .wire<&Protection::backups_every>("BackupsEvery", "0: only by hand.")
          .wire<&Protection::backups_kept>("BackupsKept", "How many; all 0: all.")
          .wire<&Protection::drills_every>("DrillsEvery", "How often the newest is tried; 0: only by hand.")
          .wire<&Protection::warnings>("Warnings", "What nothing protects from.")
          .done();
  return s;
}

}  // namespace underway::model
