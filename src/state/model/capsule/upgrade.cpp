#include "model/capsule/upgrade.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const Enumeration& description(Tag<UpgradePhase>) {
  static const Enumeration e = describe::enumeration<UpgradePhase>("upgrade phase");
  return e;
}

const Structure& description(Tag<CapsuleUpgrade>) {
  static const Structure s =
      Builder<CapsuleUpgrade>("capsule upgrade",
                              "Another image for a capsule, tried on a clone before, with the way back kept.")
          .wire<&CapsuleUpgrade::id>("ID", "UUID.")
          .wire<&CapsuleUpgrade::phase>("Phase", "How far it is; `done`: it is over.")
          .wire<&CapsuleUpgrade::node>("Node", "ID of the node that runs the capsule: it is done there.")
          .wire<&CapsuleUpgrade::node_name>("NodeName", "Name of that node.")
          .wire<&CapsuleUpgrade::from_image>("FromImage", "The image before, as the job asks for it.")
          .wire<&CapsuleUpgrade::from_means>("FromMeans",
                                             "Digest that FromImage means now; empty: only its node knows.")
          .wire<&CapsuleUpgrade::from_digest>("FromDigest", "Digest of the image that ran last.")
          .wire<&CapsuleUpgrade::back_image>(
              "BackImage", "What the job is to ask for on the way back: FromImage, or the digest that ran.")
          .wire<&CapsuleUpgrade::to_image>("ToImage", "The new image, as the job is to ask for it.")
          .wire<&CapsuleUpgrade::to_digest>("ToDigest", "Digest of that image.")
          .wire<&CapsuleUpgrade::data>(
              "Data", "The snapshot that it starts from, when it takes an upgrade back or restores; else empty.")
          .wire<&CapsuleUpgrade::restores>("Restores", "Whether the image stays, and Data takes the overlay's place.")
          .wire<&CapsuleUpgrade::rehearse_only>("RehearseOnly", "Whether it is only tried on a clone.")
          .wire<&CapsuleUpgrade::scripts>("Scripts", "Programs to run in the clone; none once they have been run.")
          .wire<&CapsuleUpgrade::rehearsal>("Rehearsal", "What the trial on a clone found; absent: there was none yet.")
          .wire<&CapsuleUpgrade::snapshot>("Snapshot",
                                           "Snapshot of the overlay as FromImage left it; empty: not taken yet.")
          .wire<&CapsuleUpgrade::snapshot_at>("SnapshotAt",
                                              "Unix time in nanoseconds of that snapshot; 0: not taken yet.")
          .wire<&CapsuleUpgrade::attempts>("Attempts", "How often the present phase has failed.")
          .wire<&CapsuleUpgrade::started_at>("StartedAt",
                                             "Unix time in nanoseconds, by the server's clock, as those that follow.")
          .wire<&CapsuleUpgrade::phase_at>("PhaseAt", "Unix time in nanoseconds at which the present phase began.")
          .wire<&CapsuleUpgrade::stopped_at>(
              "StoppedAt", "Unix time in nanoseconds at which the capsule was told to stop; 0: not yet.")
          .wire<&CapsuleUpgrade::ended_at>("EndedAt", "Unix time in nanoseconds at which it was over; 0: not yet.")
          .wire<&CapsuleUpgrade::gap>("Gap",
                                      "From StoppedAt to the first check that passed, in nanoseconds; 0: none has.")
          .wire<&CapsuleUpgrade::error>("Error", "Why it was refused, given up, or went back; empty: it was not.")
          .wire<&CapsuleUpgrade::rolled_back>("RolledBack", "Whether the capsule is what it was before.")
          .done();
  return s;
}

const Structure& description(Tag<CapsuleWayBack>) {
  static const Structure s =
      Builder<CapsuleWayBack>("capsule way back", "What takes an upgrade back: image and overlay together.")
          .wire<&CapsuleWayBack::node>("Node", "ID of the node that has the snapshot.")
          .wire<&CapsuleWayBack::node_name>("NodeName", "Name of that node.")
          .wire<&CapsuleWayBack::image>("Image", "The image to go back to, as the job is to ask for it.")
          .wire<&CapsuleWayBack::digest>("Digest", "Digest of that image.")
          .wire<&CapsuleWayBack::from_image>("FromImage", "The image that the job asks for since the upgrade.")
          .wire<&CapsuleWayBack::snapshot>("Snapshot", "The snapshot of the overlay from before.")
          .wire<&CapsuleWayBack::at>("At", "Unix time in nanoseconds of that snapshot: what was written since is lost.")
          .done();
  return s;
}

}  // namespace underway::model
