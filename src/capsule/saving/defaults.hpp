#pragma once
/// @file
/// What is saved of a capsule whose job says nothing of it: snapshots, as often as they cost little, and never on a
/// disk that they could fill.

#include "overlay/snapshot/snapshot.hpp"
#include "run/saving.hpp"
#include "saving/messages.hpp"

namespace underway::saving {

/// Of each disk that snapshots lie on so much stays free, in percent; below it an overlay counts as almost full
/// (model::CapsuleSaving::almost_full), and the trash is emptied.
inline constexpr std::uint64_t kFreeForOthers = 10;

struct SnapshotPlan {
  overlay::SnapshotSchedule schedule;
  bool by_default = false;  ///< the job says nothing
};

/// Of a capsule whose job says nothing of snapshots: each hour where one costs what changes later, and each day where
/// it is a copy of all. Pure.
overlay::SnapshotSchedule by_default(model::SnapshotMethod method);

/// What holds for a capsule: what its job says (`every = "0s"` is said as well); else, unless it keeps nothing,
/// by_default. Pure.
SnapshotPlan snapshots_of(const run::Saving& saving, model::SnapshotMethod method);

/// Why a snapshot is not taken now, a sentence; empty: there is room. A copy needs as much as the overlay holds.
std::string no_room(const model::SnapshotMethod& method, const overlay::Space& space, std::uint64_t copied_bytes);

/// As it stands for an overlay on this node. Errors: none; what cannot be looked at counts as there is no room.
std::string find_no_room(const std::string& capsules, const CapsuleName& capsule);

}  // namespace underway::saving
