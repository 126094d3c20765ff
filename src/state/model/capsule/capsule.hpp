#pragma once
/// @file
/// The record of a capsule: who may run it, since when, and what is under way to change that. See
/// docs/explanation/move.md.

#include "model/capsule/upgrade.hpp"
#include "model/job/job.hpp"

namespace underway::model {

/// free: nobody runs it. held: its owner does, or may. moving: see `move`. failed: it has an owner on which it does not
/// come up, or none that could take over. waiting_for_fence: its owner is not heard of, and nobody can switch it off.
/// upgrading: see `upgrade`.
enum class CapsuleState : std::uint8_t { free, held, moving, failed, waiting_for_fence, upgrading };

enum class MoveKind : std::uint8_t { planned, failover };

/// In the order of a move; see docs/explanation/move.md.
enum class MovePhase : std::uint8_t {
  stage,
  copy,
  before_stop,
  stop,
  transfer,
  fence,  ///< a failover's first
  start,
  check,
  roll_back,
  restore,
  done
};

/// One pass over the overlay.
struct MoveRound {
  std::int64_t bytes = 0;  ///< that had to be sent
  std::int64_t files = 0;
  Duration took{0};
};

struct CapsuleMove {
  std::string id;
  MoveKind kind = MoveKind::planned;
  MovePhase phase = MovePhase::stage;
  std::string source, source_name;  ///< nodes
  std::string target, target_name;
  bool without_overlay = false;  ///< somebody said so
  std::vector<MoveRound> rounds;
  std::int64_t attempts = 0;    ///< of this phase, that failed
  std::int64_t started_at = 0;  ///< ns since the epoch, by the server's clock; as the others
  std::int64_t phase_at = 0;    ///< when this phase began
  std::int64_t stopped_at = 0;  ///< when the source was told to stop, or was last heard of
  std::int64_t ended_at = 0;
  Duration gap{0};    ///< from then to the first check that passed
  std::string error;  ///< why it went back, or was given up
  std::string note;   ///< what else is to be known: "the last difference was lost"
  bool rolled_back = false;
};

/// A copy of the overlay that a node could start from.
struct CapsuleReplica {
  std::string node, node_name;
  std::int64_t at = 0;     ///< what was written until then is in it, ns since the epoch
  std::int64_t epoch = 0;  ///< of the owner that it was copied from
};

/// Who would take over if the owner were lost now.
struct CapsuleSuccessor {
  std::string node, node_name;  ///< empty: nobody
  std::string why;              ///< why it is not the standby, for people: "sms2 is not heard of"; empty: it is
  Duration loses{0};            ///< how old its copy is: what was written since would be lost
};

struct Capsule {
  std::string ns = "default";
  std::string name;
  std::string job, group;
  std::string image;  ///< as the job asks for it
  CapsuleState state = CapsuleState::free;
  std::string description;        ///< for people: what is waited for, what is to be typed
  std::string owner, owner_name;  ///< a node; with the capsule ended: where its overlay is
  std::string owner_host;         ///< "cluster/name" when a provider of ours made it
  std::string allocation;         ///< that may run; empty: the next one on the owner
  std::int64_t epoch = 0;
  bool fenced = false;            ///< the owner's host is known to run nothing; while that stands nothing is started
  bool ran = false;               ///< some allocation of it has run: there is an overlay that counts
  std::int64_t held_since = 0;    ///< ns since the epoch; as the next
  std::int64_t silent_since = 0;  ///< the owner is not heard of; 0: it is

  std::string standby, standby_name;       ///< a node: copies are made there
  bool standby_chosen = false;             ///< somebody said so: the job file does not count for it and the next two
  Duration replicate_every{0};             ///< 0: only by moves
  Duration rpo = std::chrono::minutes(5);  ///< the oldest replica that a failover may start from, before the loss
  Duration loss{0};                        ///< an older copy is something to be told; 0: none is wanted
  bool keeps_nothing = false;              ///< it may start with nothing: there are no copies of it
  std::vector<CapsuleReplica> replicas;    ///< one for each node
  std::string last_snapshot;
  std::optional<CapsuleSuccessor> successor;  ///< in answers of the API alone

  std::optional<CapsuleMove> move;  ///< under way
  std::optional<CapsuleMove> last_move;
  std::optional<CapsuleUpgrade> upgrade;  ///< under way; beside it a failover, when its node is lost on the way back
  std::optional<CapsuleUpgrade> last_upgrade;
  std::optional<CapsuleWayBack> way_back;  ///< of the last upgrade that took place
  Revision create_index = 0;
  Revision modify_index = 0;

  const CapsuleReplica* find_replica(std::string_view node) const;
};

/// "<namespace>/<name>": its key.
std::string capsule_key(std::string_view ns, std::string_view name);

const describe::Enumeration& description(describe::Tag<CapsuleState>);
const describe::Enumeration& description(describe::Tag<MoveKind>);
const describe::Enumeration& description(describe::Tag<MovePhase>);
const describe::Structure& description(describe::Tag<MoveRound>);
const describe::Structure& description(describe::Tag<CapsuleMove>);
const describe::Structure& description(describe::Tag<CapsuleReplica>);
const describe::Structure& description(describe::Tag<CapsuleSuccessor>);
const describe::Structure& description(describe::Tag<Capsule>);

}  // namespace underway::model
