#pragma once
/// @file
/// Snapshots of an overlay that is in use. Each has a directory of its own below that of all snapshots:
///
///     <snapshots>/<id>/snapshot.json     what it is (Snapshot)
///     <snapshots>/<id>/copy              SnapshotMethod::copy: as transfer.hpp has it
///
/// A snapshot of btrfs lies in the overlay's file system (root()/snapshots/<id>), a clone beside the overlay's file.
/// They protect from mistakes and from bad upgrades, not from the loss of the disk: for that there is backup.hpp.
///
/// Nothing is half done for good: a snapshot counts when its record says that it is complete, a restored layer takes
/// the old one's place in one step, and what a crash leaves behind is swept by the next call.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/capsule/saved.hpp"
#include "overlay/overlay.hpp"

namespace underway::overlay {

using model::Retention;
using model::Snapshot;
using model::SnapshotMethod;

/// Begins the reason of those that an upgrade could be taken back with: retention leaves the last two alone, which are
/// that of an upgrade and that of the way back while it is under way.
inline constexpr std::string_view kBeforeUpgrade = "before upgrade";
/// Begins the reason of those that were taken before a planned move.
inline constexpr std::string_view kBeforeMove = "before move";

struct SnapshotRequest {
  std::string reason;
  std::string image;
  /// Brings what writes to a state that it can start from (true), e.g. FLUSH TABLES WITH READ LOCK, and lets it go on
  /// (false). Without: to be as after a power loss must be enough, which is what databases and file systems promise.
  std::function<void(bool)> quiesce;
  /// Nothing runs on the overlay: nobody needs to wait.
  bool idle = false;
  Duration limit = std::chrono::seconds{20};  ///< of the freeze
  TimePoint now;                              ///< names the snapshot
  /// Told before each step: for tests that end the process there.
  std::function<void(const std::string&)> on_step;
};
/// Errors: exhausted; timeout when the freeze did not hold; those of `quiesce`. Then there is no snapshot, and writers
/// go on. Blocks: yes.
Snapshot take_snapshot(Mounted& overlay, const std::string& snapshots, const SnapshotRequest& request);

/// The complete ones, oldest first.
std::vector<Snapshot> list_snapshots(const std::string& snapshots);
/// Throws not_found, naming what there is.
Snapshot get_snapshot(const std::string& snapshots, const std::string& id);
/// The newest that is not younger than `at`. Throws not_found, naming the oldest.
Snapshot snapshot_at(const std::vector<Snapshot>& list, TimePoint at);

/// A snapshot's upper layer as a directory to read.
class SnapshotView {
 public:
  SnapshotView(const Mounted& overlay, const std::string& snapshots, const Snapshot& snapshot);
  SnapshotView(const SnapshotView&) = delete;
  ~SnapshotView();
  const std::string& upper() const { return upper_; }

 private:
  std::string upper_;
  std::string mounted_;  ///< a clone's mount point
};

/// The overlay becomes what it was. Nothing may use it. Returns it opened again. On an error, and after a crash at any
/// step, it is what it was before. Errors: conflict while something uses it; internal when the snapshot is damaged.
Mounted restore_snapshot(Mounted overlay, const std::string& snapshots, const std::string& id,
                         const std::function<void(const std::string&)>& on_step = {});
/// A consistent copy (transfer.hpp) on the same file system becomes a snapshot; its name follows from `what.at`.
Snapshot adopt_copy(const std::string& snapshots, const std::string& copy, Snapshot what);
/// Copies a snapshot's upper layer to `<dir>/tree`, whole or not at all, digests compared.
void extract_snapshot(const Mounted& overlay, const std::string& snapshots, const std::string& id,
                      const std::string& dir);
/// Nothing happens when there is none.
void remove_snapshot(Mounted& overlay, const std::string& snapshots, const std::string& id);
/// Removes what a crash has left half done.
void sweep_snapshots(Mounted& overlay, const std::string& snapshots);

/// Ids of those that need not be kept. Pure. Hours, days and weeks (from Monday) are UTC's.
std::vector<std::string> superfluous(const std::vector<Snapshot>& list, const Retention& retention);

}  // namespace underway::overlay
