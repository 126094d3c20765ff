#pragma once
/// @file
/// The decisions about upgrades of capsules, beside those about moves (move_decisions.hpp), which go on from phase to
/// phase for both. The phases and what happens at each crash: docs/explanation/upgrade.md.

#include "ownership/move_decisions.hpp"

namespace underway::ownership {

struct UpgradeRequest {
  std::string ns = "default", name;
  std::string image;   ///< as the job is to ask for it
  std::string digest;  ///< what that means now, if the server knows
  std::vector<model::RehearsalScript> scripts;
  bool rehearse_only = false;
  bool back = false;  ///< takes the last upgrade back, image and overlay together; the rest is without effect
};
/// Begins an upgrade. Returns its id. Throws not_found; invalid: scripts that are none; conflict: it moves or is being
/// upgraded, its job is stopped or asks for that image already, its owner is not there, or there is no way back.
struct BeginUpgrade {
  UpgradeRequest wanted;
  Limits limits;
};
server::Decision<std::string> decide(const tables::Tables&, const BeginUpgrade&, const server::Context&);

struct RestoreOrder {
  std::string ns = "default", name;
  std::string snapshot;  ///< on the owner's node
};
/// Begins a restore: an upgrade to the image that it has, with other data. It stops, what it was is saved, the snapshot
/// takes the overlay's place, it starts, and its check has to pass; else it becomes what it was. Returns its id, as
/// BeginUpgrade; throws the same.
struct BeginRestore {
  RestoreOrder wanted;
  Limits limits;
};
server::Decision<std::string> decide(const tables::Tables&, const BeginRestore&, const server::Context&);

/// What the owner's node found about images.
struct Looked {
  std::string running;  ///< the digest of what ran last
  std::string from;     ///< what `from_image` means now; empty: nothing any more
  std::string to;
};
struct Saved {
  std::string snapshot;
  std::int64_t at = 0;  ///< ns since the epoch
  std::string running;  ///< the digest of what ran last
};
/// How an action of an upgrade ended; of the others what concerns it.
struct UpgradeOutcome {
  std::optional<std::string> error;
  bool final = false;  ///< trying again would find the same
  bool busy = false;   ///< of an error: it is being rehearsed or copied, which ends by itself; that is no attempt
  Looked looked;       ///< look, before_stop
  std::optional<model::Rehearsal> rehearsal;
  Saved saved;  ///< snapshot; restore: what ran last
};
/// Of an action of an upgrade's phase; without effect when the upgrade is elsewhere by now.
struct EndUpgradeStep {
  std::string key, upgrade_id;
  model::UpgradePhase phase;
  UpgradeOutcome outcome;
  Limits limits;
};
server::Decision<server::Nothing> decide(const tables::Tables&, const EndUpgradeStep&, const server::Context&);

}  // namespace underway::ownership
