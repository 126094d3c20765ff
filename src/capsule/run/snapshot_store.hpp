#pragma once
/// @file
/// What is saved of a capsule on its node (overlay::SnapshotStore), with the capsule that runs there brought to rest
/// for a snapshot: its steps `quiesce` and `unquiesce` run around it, and where the overlay is a directory all of the
/// capsule's processes are stopped for the moment.

#include "overlay/snapshot_store.hpp"
#include "run/running.hpp"

namespace underway::run {

/// Of a capsule that runs here, or ran here last. `clock` outlives it. Errors: not_found when it has no overlay here.
/// Blocks: no.
overlay::SnapshotStore snapshot_store_of(const std::string& capsules, const Run& run, const Clock& clock);

/// What an agent that died while it took a snapshot has left stopped goes on. Idempotent.
void let_go_on(const Run& run);

}  // namespace underway::run
