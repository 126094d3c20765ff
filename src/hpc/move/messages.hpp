#pragma once
/// @file
/// What a server asks of a node for a move, over the link, as JSON:
///
///   stream "move.stage"    CapsuleRequest   whether it could run there; Error(invalid) says all that is missing
///   stream "move.install"  CapsuleRequest   its copy becomes its overlay
///   stream "move.steps"    StepsRequest     runs the capsule's steps of a moment
///   stream "move.send"     CopyRequest      overlay::Sender: bytes both ways, then one control message CopyReply
///   stream "move.receive"  CopyRequest      overlay::Receiver, the same
///
/// The first three say nothing: their end says that it was done. They are no calls because calls have 30 s.

#include "base/describe.hpp"
#include "model/job.hpp"

namespace underway::move {

struct CapsuleRequest {
  std::string ns, name;
  model::Job job;     ///< with its configuration
  std::string group;  ///< whose capsule it is
  std::int64_t epoch = 0;
};

struct CopyRequest {
  CapsuleRequest capsule;
  bool consistent = false;
};

struct CopyReply {
  std::int64_t bytes = 0, files = 0;
  bool consistent = false;
};

struct StepsRequest {
  std::string alloc, task;
  std::string moment;
};

const describe::Structure& description(describe::Tag<CapsuleRequest>);
const describe::Structure& description(describe::Tag<CopyRequest>);
const describe::Structure& description(describe::Tag<CopyReply>);
const describe::Structure& description(describe::Tag<StepsRequest>);

}  // namespace underway::move
