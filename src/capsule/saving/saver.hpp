#pragma once
/// @file
/// Saves a capsule's overlay on its node, and tries what was saved: by whomever it is asked for, all of it is done
/// here. Blocks: as long as it takes. Thread: any, several at once; who works on one overlay waits for its turn.

#include "overlay/snapshot_store.hpp"
#include "rehearsal/rehearsal.hpp"
#include "run/running.hpp"
#include "saving/messages.hpp"

namespace underway::saving {

struct Options {
  /// As a rehearsal has them; `rehearsal.driver.capsules` are the capsules that are saved.
  rehearsal::Options rehearsal;
  Duration drill_patience = std::chrono::minutes{10};
};

class Saver {
 public:
  /// `clock` outlives it, and is the rehearsals' too.
  Saver(Options options, const Clock& clock) : options_(std::move(options)), clock_(clock) {
    options_.rehearsal.driver.clock = &clock;
  }

  /// Errors of all: not_found when the capsule has no overlay here; conflict while another works on it; those of
  /// overlay::SnapshotStore and of restic.
  model::Snapshot snapshot(const SnapshotRequest& request) const;
  Snapshots snapshots(const CapsuleName& capsule) const;
  Backed backup(const BackupRequest& request) const;
  Backups backups(const BackupRequest& request) const;
  /// What was found is the answer; an error means that there was nothing to try.
  Drilled drill(const DrillRequest& request) const;
  /// The snapshot that is to be restored; a backup is brought here as one ("from backup …"), if it is not yet.
  model::Snapshot find(const FindRequest& request) const;
  /// The overlay becomes what the snapshot holds; what it was is kept as the snapshot that is returned. Errors also:
  /// conflict while the capsule runs.
  model::Snapshot restore(const CapsuleName& capsule, const std::string& snapshot) const;

  overlay::SnapshotStore snapshot_store(const CapsuleName& capsule) const;
  const std::string& capsules() const { return options_.rehearsal.driver.capsules; }

 private:
  run::Run run_of(const CapsuleName& capsule) const;
  std::string directory(const CapsuleName& capsule) const;
  overlay::Repository repository(const CapsuleName& capsule, const BackupPlace& where) const;
  /// Until when what was saved counts; 0: now.
  TimePoint moment(std::int64_t at) const { return at == 0 ? clock_.now() : from_unix_nanos(at); }
  model::Backup choose(const CapsuleName& capsule, const overlay::Repository& repository, std::int64_t at) const;
  std::vector<std::string> rehearse(const DrillRequest& request, const std::string& upper, Drilled& told) const;

  Options options_;
  const Clock& clock_;
};

}  // namespace underway::saving
