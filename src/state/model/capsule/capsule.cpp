#include "model/capsule/capsule.hpp"

namespace underway::model {

using describe::Builder;
using describe::Enumeration;
using describe::Structure;
using describe::Tag;

const CapsuleReplica* Capsule::find_replica(std::string_view node) const {
  const auto it =
      std::find_if(replicas.begin(), replicas.end(), [&](const auto& replica) { return replica.node == node; });
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
  static const Structure s = Builder<MoveRound>("move round", "One pass over the overlay.")
                                 .wire<&MoveRound::bytes>("Bytes", "Bytes that had to be sent.")
                                 .wire<&MoveRound::files>("Files", "How many files had to be sent.")
                                 .wire<&MoveRound::took>("Took", "How long it took, in nanoseconds.")
                                 .done();
  return s;
}

const Structure& description(Tag<CapsuleMove>) {
  static const Structure s =
      Builder<CapsuleMove>("capsule move", "A change of the node that runs a capsule.")
          .wire<&CapsuleMove::id>("ID", "UUID.")
          .wire<&CapsuleMove::kind>("Kind", "`planned`: its owner is heard of; `failover`: it is not.")
          .wire<&CapsuleMove::phase>("Phase", "How far it is; `done`: it is over.")
          .wire<&CapsuleMove::source>("Source", "ID of the node that it leaves.")
          .wire<&CapsuleMove::source_name>("SourceName", "Name of that node.")
          .wire<&CapsuleMove::target>("Target", "ID of the node that it goes to; empty: not chosen yet.")
          .wire<&CapsuleMove::target_name>("TargetName", "Name of that node; `any node` before one is chosen.")
          .wire<&CapsuleMove::without_overlay>("WithoutOverlay",
                                               "Whether somebody said that it may start with what there is.")
          .wire<&CapsuleMove::rounds>("Rounds", "The passes over the overlay so far, in order.")
          .wire<&CapsuleMove::attempts>("Attempts", "How often the present phase has failed.")
          .wire<&CapsuleMove::started_at>("StartedAt",
                                          "Unix time in nanoseconds, by the server's clock, as the others.")
          .wire<&CapsuleMove::phase_at>("PhaseAt", "Unix time in nanoseconds at which the present phase began.")
          .wire<&CapsuleMove::stopped_at>(
              "StoppedAt",
              "Unix time in nanoseconds at which the source was told to stop, or was last heard of; 0: not yet.")
          .wire<&CapsuleMove::ended_at>("EndedAt", "Unix time in nanoseconds at which it was over; 0: not yet.")
          .wire<&CapsuleMove::gap>("Gap", "From StoppedAt to the first check that passed, in nanoseconds; 0: none has.")
          .wire<&CapsuleMove::error>("Error", "Why it went back, or was given up; empty: it did neither.")
          .wire<&CapsuleMove::note>("Note",
                                    "What else is to be known, for people, such as what was lost; empty: nothing.")
          .wire<&CapsuleMove::rolled_back>("RolledBack", "Whether the capsule is back on the source.")
          .done();
  return s;
}

const Structure& description(Tag<CapsuleReplica>) {
  static const Structure s =
      Builder<CapsuleReplica>("capsule replica", "A copy of the overlay that a node could start from.")
          .wire<&CapsuleReplica::node>("Node", "ID of the node that has it.")
          .wire<&CapsuleReplica::node_name>("NodeName", "Name of that node.")
          .wire<&CapsuleReplica::at>("At", "Unix time in nanoseconds: what was written until then is in it.")
          .wire<&CapsuleReplica::epoch>("Epoch", "Epoch of the owner that it was copied from.")
          .done();
  return s;
}

const Structure& description(Tag<CapsuleSuccessor>) {
  static const Structure s =
      Builder<CapsuleSuccessor>("capsule successor", "Who would take over if the owner were lost now.")
          .wire<&CapsuleSuccessor::node>("Node", "Empty: nobody.")
          .wire<&CapsuleSuccessor::node_name>("NodeName", "Name of that node; empty: nobody.")
          .wire<&CapsuleSuccessor::why>("Why", "Why it is not the standby; empty: it is.")
          .wire<&CapsuleSuccessor::loses>("Loses", "How old its copy is, in nanoseconds.")
          .done();
  return s;
}

const Structure& description(Tag<Capsule>) {
  static const Structure s =
      Builder<Capsule>("capsule", "Who may run a capsule, since when, and what is under way to change that.")
          .wire<&Capsule::ns>("Namespace", "Namespace of its job.")
          .wire<&Capsule::name>("Name", "Its name; unique in its namespace.")
          .wire<&Capsule::job>("Job", "ID of the job that declares it.")
          .wire<&Capsule::group>("Group", "The job's group that runs it.")
          .wire<&Capsule::image>("Image", "The image, as the job asks for it.")
          .wire<&Capsule::state>("State", "`free`, `held`, `moving`, `failed`, `waiting_for_fence` or `upgrading`.")
          .wire<&Capsule::description>("Description",
                                       "What is waited for, or is to be done, for people; empty: nothing.")
          .wire<&Capsule::owner>("Owner", "ID of the node that may run it, or has its overlay; empty: none.")
          .wire<&Capsule::owner_name>("OwnerName", "Name of that node.")
          .wire<&Capsule::owner_host>("OwnerHost",
                                      "`<cluster>/<name>` of the owner's host, when a provider made it; else empty.")
          .wire<&Capsule::allocation>("Allocation",
                                      "ID of the allocation that may run; empty: the next one on the owner.")
          .wire<&Capsule::epoch>("Epoch", "Counts its owners: raised whenever another node may run it.")
          .wire<&Capsule::fenced>(
              "Fenced", "Whether the owner's host is known to run nothing; while it is, nothing is started there.")
          .wire<&Capsule::ran>("Ran", "Whether it has ever run: there is an overlay that counts.")
          .wire<&Capsule::held_since>("HeldSince", "Unix time in nanoseconds since which the owner may run it.")
          .wire<&Capsule::silent_since>("SilentSince",
                                        "Unix time in nanoseconds since which the owner is not heard of; 0: it is.")
          .wire<&Capsule::standby>("Standby", "ID of the node on which copies are made; empty: none.")
          .wire<&Capsule::standby_name>("StandbyName", "Name of that node.")
          .wire<&Capsule::standby_chosen>(
              "StandbyChosen", "Whether somebody chose it: then not the job says how often and how old copies are.")
          .wire<&Capsule::replicate_every>("ReplicateEvery",
                                           "How often copies are made, in nanoseconds; 0: only by moves.")
          .wire<&Capsule::rpo>("RPO",
                               "How old, before the loss, the copy that a failover starts from may be, in nanoseconds.")
          .wire<&Capsule::loss>("Loss", "That a copy is older is told, in nanoseconds; 0: no copies are wanted.")
          .wire<&Capsule::keeps_nothing>("KeepsNothing",
                                         "Whether it may start with nothing: there are no copies of it.")
          .wire<&Capsule::replicas>("Replicas", "Copies of its overlay, one for each node.")
          .wire<&Capsule::last_snapshot>(
              "LastSnapshot", "The newest snapshot that was taken before a move, and on which node, for people.")
          .wire<&Capsule::successor>("Successor", "Who would take over if the owner were lost now; only in answers.")
          .wire<&Capsule::move>("Move", "The move that is under way; absent: none.")
          .wire<&Capsule::last_move>("LastMove", "The last move that is over; absent: there was none.")
          .wire<&Capsule::upgrade>("Upgrade", "The upgrade that is under way; absent: none.")
          .wire<&Capsule::last_upgrade>("LastUpgrade", "The last upgrade that is over; absent: there was none.")
          .wire<&Capsule::way_back>("WayBack",
                                    "What takes the last upgrade back that took place; absent: nothing does.")
          .wire<&Capsule::create_index>("CreateIndex", "Revision in which it was made.")
          .wire<&Capsule::modify_index>("ModifyIndex", "Revision in which it last changed.")
          .done();
  return s;
}

}  // namespace underway::model
