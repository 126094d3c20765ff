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
server::Decision<std::string> decide_upgrade(const tables::Tables& tables, const UpgradeRequest& request,
                                             const Limits& limits, const server::Context& context);

struct RestoreOrder {
  std::string ns = "default", name;
  std::string snapshot;  ///< on the owner's node
};
/// Begins a restore: an upgrade to the image that it has, with other data. It stops, what it was is saved, the snapshot
/// takes the overlay's place, it starts, and its check has to pass; else it becomes what it was. Returns its id, as
/// decide_upgrade; throws the same.
server::Decision<std::string> decide_restore(const tables::Tables& tables, const RestoreOrder& request,
                                             const Limits& limits, const server::Context& context);

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
server::Decision<server::Nothing> decide_upgrade_outcome(const tables::Tables& tables, const std::string& key,
                                                         const std::string& upgrade_id, model::UpgradePhase phase,
                                                         const UpgradeOutcome& outcome, const Limits& limits,
                                                         const server::Context& context);

}  // namespace underway::ownership
