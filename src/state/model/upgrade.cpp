#include "model/upgrade.hpp"

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
  static const Structure s = Builder<CapsuleUpgrade>("capsule upgrade", "")
                                 .wire<&CapsuleUpgrade::id>("ID", "")
                                 .wire<&CapsuleUpgrade::phase>("Phase", "")
                                 .wire<&CapsuleUpgrade::node>("Node", "")
                                 .wire<&CapsuleUpgrade::node_name>("NodeName", "")
                                 .wire<&CapsuleUpgrade::from_image>("FromImage", "")
                                 .wire<&CapsuleUpgrade::from_means>("FromMeans", "")
                                 .wire<&CapsuleUpgrade::from_digest>("FromDigest", "")
                                 .wire<&CapsuleUpgrade::back_image>("BackImage", "")
                                 .wire<&CapsuleUpgrade::to_image>("ToImage", "")
                                 .wire<&CapsuleUpgrade::to_digest>("ToDigest", "")
                                 .wire<&CapsuleUpgrade::data>("Data", "")
                                 .wire<&CapsuleUpgrade::restores>("Restores", "")
                                 .wire<&CapsuleUpgrade::rehearse_only>("RehearseOnly", "")
                                 .wire<&CapsuleUpgrade::scripts>("Scripts", "")
                                 .wire<&CapsuleUpgrade::rehearsal>("Rehearsal", "")
                                 .wire<&CapsuleUpgrade::snapshot>("Snapshot", "")
                                 .wire<&CapsuleUpgrade::snapshot_at>("SnapshotAt", "")
                                 .wire<&CapsuleUpgrade::attempts>("Attempts", "")
                                 .wire<&CapsuleUpgrade::started_at>("StartedAt", "")
                                 .wire<&CapsuleUpgrade::phase_at>("PhaseAt", "")
                                 .wire<&CapsuleUpgrade::stopped_at>("StoppedAt", "")
                                 .wire<&CapsuleUpgrade::ended_at>("EndedAt", "")
                                 .wire<&CapsuleUpgrade::gap>("Gap", "")
                                 .wire<&CapsuleUpgrade::error>("Error", "")
                                 .wire<&CapsuleUpgrade::rolled_back>("RolledBack", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleWayBack>) {
  static const Structure s = Builder<CapsuleWayBack>("capsule way back", "")
                                 .wire<&CapsuleWayBack::node>("Node", "")
                                 .wire<&CapsuleWayBack::node_name>("NodeName", "")
                                 .wire<&CapsuleWayBack::image>("Image", "")
                                 .wire<&CapsuleWayBack::digest>("Digest", "")
                                 .wire<&CapsuleWayBack::from_image>("FromImage", "")
                                 .wire<&CapsuleWayBack::snapshot>("Snapshot", "")
                                 .wire<&CapsuleWayBack::at>("At", "")
                                 .done();
  return s;
}

}  // namespace underway::model
