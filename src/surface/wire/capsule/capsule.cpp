#include "wire/capsule/capsule.hpp"

namespace underway::wire {

using describe::Builder;
using describe::Structure;
using describe::Tag;

const Structure& description(Tag<MoveCapsule>) {
  static const Structure s =
      Builder<MoveCapsule>("MoveCapsule", "Where a capsule shall run.")
          .wire<&MoveCapsule::node>("Node", "The target's id.")
          .wire<&MoveCapsule::without_overlay>("WithoutOverlay", "Start there with what there is: its owner is gone.")
          .wire<&MoveCapsule::dry_run>("DryRun", "Find out whether it could run there, and do nothing.")
          .done();
  return s;
}

const Structure& description(Tag<MovedCapsule>) {
  static const Structure s = Builder<MovedCapsule>("MovedCapsule", "A move that has begun.")
                                 .wire<&MovedCapsule::move_id>("MoveID", "Empty after a rehearsal.")
                                 .done();
  return s;
}

const Structure& description(Tag<UpgradeCapsule>) {
  static const Structure s =
      Builder<UpgradeCapsule>("UpgradeCapsule", "Which image a capsule shall run.")
          .wire<&UpgradeCapsule::image>("Image", "A name, \"name:version\" or digest of the server's store.")
          .wire<&UpgradeCapsule::scripts>("Scripts", "Programs that have to succeed in the rehearsal.")
          .wire<&UpgradeCapsule::rehearse_only>("RehearseOnly", "Stop at the verdict.")
          .wire<&UpgradeCapsule::revert>("Revert", "Take the last upgrade back instead, image and overlay.")
          .wire<&UpgradeCapsule::any_slurm_version>("AnySlurmVersion",
                                                    "Even if its Slurm does not go with that of the nodes.")
          .wire<&UpgradeCapsule::loses>("Loses",
                                        "Take it back even if its step before_revert says that something is lost.")
          .done();
  return s;
}

const Structure& description(Tag<UpgradedCapsule>) {
  static const Structure s = Builder<UpgradedCapsule>("UpgradedCapsule", "An upgrade that has begun.")
                                 .wire<&UpgradedCapsule::upgrade_id>(
                                     "UpgradeID", "ID of the upgrade, by which it is followed in the capsule's record.")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleStandby>) {
  static const Structure s =
      Builder<CapsuleStandby>("CapsuleStandby", "Who keeps copies of a capsule's overlay, and takes over.")
          .wire<&CapsuleStandby::node>("Node", "The node's id; empty: none.")
          .wire<&CapsuleStandby::every>("Every", "How long what is written in place may wait; 0: only moves copy.")
          .wire<&CapsuleStandby::rpo>("RPO", "The oldest copy, before the loss, that is started from; 0: as it was.")
          .done();
  return s;
}

}  // namespace underway::wire
