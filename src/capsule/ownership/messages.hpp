#pragma once
/// @file
/// What a server asks of a node for a move or an upgrade, over the link, as JSON:
///
///   stream "move.stage"    CapsuleRequest   whether it could run there; Error(invalid) says all that is missing
///   stream "move.measure"  CapsuleRequest   what its overlay holds; one control message CopyReply
///   stream "move.install"  CapsuleRequest   its copy becomes its overlay
///   stream "move.steps"    StepsRequest     runs the capsule's steps of a moment
///   stream "move.send"     CopyRequest      overlay::Sender: bytes both ways, then one control message CopyReply
///   stream "move.receive"  CopyRequest      overlay::Receiver, the same; of the reply the cost counts
///   stream "move.watch"    WatchRequest     control messages WatchReply, about one a second, until it has changed
///
///   stream "move.look"     LookRequest      whether another image could run there; one control message LookReply
///   stream "move.save"     SaveRequest      a snapshot of the overlay; one control message SaveReply
///   stream "move.restore"  RestoreRequest   the overlay becomes what it was; one control message SaveReply
///
/// Those without a reply say nothing: their end says that it was done. They are no calls because calls have 30 s.

#include "base/json/describe.hpp"
#include "model/job/job.hpp"

namespace underway::ownership {

struct CapsuleRequest {
  std::string ns, name;
  model::Job job;     ///< with its configuration
  std::string group;  ///< whose capsule it is
  std::int64_t epoch = 0;
  std::int64_t bytes = 0;           ///< that its overlay holds where it is, for "move.stage"; 0: nobody knows
  bool with_what_is_there = false;  ///< "move.install": somebody said that it may start with nothing
};

struct CopyRequest {
  CapsuleRequest capsule;
  bool consistent = false;
  bool quick = false;  ///< overlay::SendOptions::quick
  bool brief = false;  ///< overlay::SendOptions::brief
};

struct CopyReply {
  std::int64_t bytes = 0, files = 0;
  bool consistent = false;
  std::string seen;  ///< what its overlay looked like at the beginning; empty: the node does not say
  Duration held{0};  ///< for which its writers stood still
  Duration cost{0};  ///< processor time that it took there
  /// With `sync`: for how long a save may be missing there that a service has gone on with; negative: none is.
  Duration behind{-1};
};

struct WatchRequest {
  CapsuleRequest capsule;
  std::string seen;   ///< of the last round
  Duration every{0};  ///< what is written in place may wait so long from now
  Duration rest{0};   ///< as may everything but a service that waits for a copy
};

struct WatchReply {
  bool changed = false;
  bool waits = false;  ///< it has changed, and may wait
  Duration took{0};    ///< to find out
  /// From the question to when that was begun; negative: an earlier version does not say.
  Duration after{-1};
};

struct StepsRequest {
  std::string alloc, task;
  std::string moment;
  std::int64_t since = 0;  ///< of before_revert: the data that it would get are of then, s since the epoch
};

struct LookRequest {
  CapsuleRequest capsule;  ///< whose job asks for the other image
  std::string from;        ///< what it asked for before
};

struct LookReply {
  std::string running, from, to;  ///< digests; empty: that ran never, or means nothing here
};

struct SaveRequest {
  std::string ns, name;
  std::string upgrade;  ///< its id: what was taken for it before is given again; nothing runs on the overlay
  std::string move;     ///< or that of a move: the capsule runs
};

struct SaveReply {
  std::string snapshot;
  std::int64_t at = 0;
  std::string running;  ///< the digest of what ran last
};

struct RestoreRequest {
  std::string ns, name;
  std::string snapshot;  ///< empty: only until nothing of an earlier request goes on
};

const describe::Structure& description(describe::Tag<CapsuleRequest>);
const describe::Structure& description(describe::Tag<CopyRequest>);
const describe::Structure& description(describe::Tag<WatchRequest>);
const describe::Structure& description(describe::Tag<WatchReply>);
const describe::Structure& description(describe::Tag<CopyReply>);
const describe::Structure& description(describe::Tag<StepsRequest>);
const describe::Structure& description(describe::Tag<LookRequest>);
const describe::Structure& description(describe::Tag<LookReply>);
const describe::Structure& description(describe::Tag<SaveRequest>);
const describe::Structure& description(describe::Tag<SaveReply>);
const describe::Structure& description(describe::Tag<RestoreRequest>);

}  // namespace underway::ownership
