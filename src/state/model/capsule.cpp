#include "model/capsule.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const std::string& Capsule::home() const {
  if (!move) return owner;
  switch (move->phase) {
    case MovePhase::stop:
    case MovePhase::transfer:
    case MovePhase::start:
    case MovePhase::check:
      return move->target;
    case MovePhase::roll_back:
    case MovePhase::restore:
      return move->source;
    case MovePhase::stage:
    case MovePhase::copy:
    case MovePhase::before_stop:
    case MovePhase::fence:
    case MovePhase::done:
      break;
  }
  return owner;
}

const CapsuleReplica* Capsule::find_replica(std::string_view node) const {
  const auto it = std::find_if(replicas.begin(), replicas.end(), [&](const auto& one) { return one.node == node; });
  return it == replicas.end() ? nullptr : &*it;
}

std::string capsule_key(std::string_view ns, std::string_view name) { return fmt::format("{}/{}", ns, name); }

const Enumeration& description(Tag<CapsuleState>) {
  static const Enumeration e = describe::enumeration<CapsuleState>("capsule state");
  return e;
}

const Enumeration& description(Tag<MoveKind>) {
  static const Enumeration e = describe::enumeration<MoveKind>("move kind");
  return e;
}

const Enumeration& description(Tag<MovePhase>) {
  static const Enumeration e = describe::enumeration<MovePhase>("move phase");
  return e;
}

const Structure& description(Tag<MoveRound>) {
  static const Structure s = Builder<MoveRound>("move round", "")
                                 .wire<&MoveRound::bytes>("Bytes", "")
                                 .wire<&MoveRound::files>("Files", "")
                                 .wire<&MoveRound::took>("Took", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleMove>) {
  static const Structure s = Builder<CapsuleMove>("capsule move", "")
                                 .wire<&CapsuleMove::id>("ID", "")
                                 .wire<&CapsuleMove::kind>("Kind", "")
                                 .wire<&CapsuleMove::phase>("Phase", "")
                                 .wire<&CapsuleMove::source>("Source", "")
                                 .wire<&CapsuleMove::source_name>("SourceName", "")
                                 .wire<&CapsuleMove::target>("Target", "")
                                 .wire<&CapsuleMove::target_name>("TargetName", "")
                                 .wire<&CapsuleMove::without_overlay>("WithoutOverlay", "")
                                 .wire<&CapsuleMove::rounds>("Rounds", "")
                                 .wire<&CapsuleMove::attempts>("Attempts", "")
                                 .wire<&CapsuleMove::started_at>("StartedAt", "")
                                 .wire<&CapsuleMove::phase_at>("PhaseAt", "")
                                 .wire<&CapsuleMove::stopped_at>("StoppedAt", "")
                                 .wire<&CapsuleMove::ended_at>("EndedAt", "")
                                 .wire<&CapsuleMove::gap>("Gap", "")
                                 .wire<&CapsuleMove::error>("Error", "")
                                 .wire<&CapsuleMove::note>("Note", "")
                                 .wire<&CapsuleMove::rolled_back>("RolledBack", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleReplica>) {
  static const Structure s = Builder<CapsuleReplica>("capsule replica", "")
                                 .wire<&CapsuleReplica::node>("Node", "")
                                 .wire<&CapsuleReplica::node_name>("NodeName", "")
                                 .wire<&CapsuleReplica::at>("At", "")
                                 .wire<&CapsuleReplica::epoch>("Epoch", "")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleSuccessor>) {
  static const Structure s =
      Builder<CapsuleSuccessor>("capsule successor", "Who would take over if the owner were lost now.")
          .wire<&CapsuleSuccessor::node>("Node", "Empty: nobody.")
          .wire<&CapsuleSuccessor::node_name>("NodeName", "")
          .wire<&CapsuleSuccessor::why>("Why", "Why it is not the standby; empty: it is.")
          .wire<&CapsuleSuccessor::loses>("Loses", "How old its copy is, in nanoseconds.")
          .done();
  return s;
}

const Structure& description(Tag<Capsule>) {
  static const Structure s = Builder<Capsule>("capsule", "")
                                 .wire<&Capsule::ns>("Namespace", "")
                                 .wire<&Capsule::name>("Name", "")
                                 .wire<&Capsule::job>("Job", "")
                                 .wire<&Capsule::group>("Group", "")
                                 .wire<&Capsule::image>("Image", "")
                                 .wire<&Capsule::state>("State", "")
                                 .wire<&Capsule::description>("Description", "")
                                 .wire<&Capsule::owner>("Owner", "")
                                 .wire<&Capsule::owner_name>("OwnerName", "")
                                 .wire<&Capsule::owner_host>("OwnerHost", "")
                                 .wire<&Capsule::allocation>("Allocation", "")
                                 .wire<&Capsule::epoch>("Epoch", "")
                                 .wire<&Capsule::fenced>("Fenced", "")
                                 .wire<&Capsule::ran>("Ran", "")
                                 .wire<&Capsule::held_since>("HeldSince", "")
                                 .wire<&Capsule::silent_since>("SilentSince", "")
                                 .wire<&Capsule::standby>("Standby", "")
                                 .wire<&Capsule::standby_name>("StandbyName", "")
                                 .wire<&Capsule::standby_chosen>("StandbyChosen", "")
                                 .wire<&Capsule::replicate_every>("ReplicateEvery", "")
                                 .wire<&Capsule::rpo>("RPO", "")
                                 .wire<&Capsule::loss>("Loss", "")
                                 .wire<&Capsule::keeps_nothing>("KeepsNothing", "")
                                 .wire<&Capsule::replicas>("Replicas", "")
                                 .wire<&Capsule::last_snapshot>("LastSnapshot", "")
                                 .wire<&Capsule::successor>("Successor", "")
                                 .wire<&Capsule::move>("Move", "")
                                 .wire<&Capsule::last_move>("LastMove", "")
                                 .wire<&Capsule::upgrade>("Upgrade", "")
                                 .wire<&Capsule::last_upgrade>("LastUpgrade", "")
                                 .wire<&Capsule::way_back>("WayBack", "")
                                 .wire<&Capsule::create_index>("CreateIndex", "")
                                 .wire<&Capsule::modify_index>("ModifyIndex", "")
                                 .done();
  return s;
}

}  // namespace underway::model
