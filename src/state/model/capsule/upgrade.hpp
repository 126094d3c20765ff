#pragma once
/// @file
/// An upgrade of a capsule as its record has it: another image, tried on a clone before, with the way back kept. See
/// docs/explanation/upgrade.md.

#include <optional>

#include "model/capsule/rehearsal.hpp"

namespace underway::model {

/// In the order of an upgrade; see docs/explanation/upgrade.md.
enum class UpgradePhase : std::uint8_t {
  stage,
  rehearse,
  before_stop,
  stop,
  snapshot,
  install,  ///< of a way back: its data
  start,
  check,
  roll_back,
  restore,
  restart,
  recheck,
  done
};

struct CapsuleUpgrade {
  std::string id;
  UpgradePhase phase = UpgradePhase::stage;
  std::string node, node_name;  ///< the capsule's owner: it is done there
  std::string from_image;       ///< as the job asks for it
  std::string from_means;       ///< the digest that this means now; empty: known on its node only
  std::string from_digest;      ///< what ran last
  std::string back_image;       ///< what the job is to ask for on the way back: from_image while that means what ran
  std::string to_image, to_digest;
  std::string data;       ///< the snapshot that to_image starts from, when this takes an upgrade back; else empty
  bool restores = false;  ///< it is no upgrade: the image stays, and `data` takes the overlay's place
  bool rehearse_only = false;
  std::vector<RehearsalScript> scripts;  ///< until they have been run
  std::optional<Rehearsal> rehearsal;    ///< the verdict
  std::string snapshot;                  ///< of the overlay when it stood; taken under from_image
  std::int64_t snapshot_at = 0;          ///< ns since the epoch; as those that follow, which are by the server's clock
  std::int64_t attempts = 0;             ///< of this phase, that failed
  std::int64_t started_at = 0;
  std::int64_t phase_at = 0;    ///< when this phase began
  std::int64_t stopped_at = 0;  ///< when it was told to stop
  std::int64_t ended_at = 0;
  Duration gap{0};    ///< from then to the first check that passed
  std::string error;  ///< why it was refused, given up, or went back
  bool rolled_back = false;

  bool took_place() const { return phase == UpgradePhase::done && error.empty() && !rehearse_only; }
};

/// What takes an upgrade back: image and overlay together.
struct CapsuleWayBack {
  std::string node, node_name;  ///< that has the snapshot
  std::string image, digest;
  std::string from_image;  ///< that the job asks for since
  std::string snapshot;
  std::int64_t at = 0;  ///< of the snapshot, ns since the epoch: what was written since is lost
};

const describe::Enumeration& description(describe::Tag<UpgradePhase>);
const describe::Structure& description(describe::Tag<CapsuleUpgrade>);
const describe::Structure& description(describe::Tag<CapsuleWayBack>);

}  // namespace underway::model
