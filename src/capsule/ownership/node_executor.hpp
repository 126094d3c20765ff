#pragma once
/// @file
/// What a move or an upgrade needs done outside of the tables: on nodes, and by those who can switch hosts off. A
/// server that dies while it waits for an answer asks again after its start, so each may be done twice. Errors are
/// thrown.

#include "async/loop.hpp"
#include "ownership/upgrade.hpp"

namespace underway::ownership {

using async::awaitable;

struct Copied {
  model::MoveRound round;
  bool consistent = false;
  std::string seen;     ///< for watch()
  Duration held{0};     ///< for which the owner's writers stood still
  Duration cost{0};     ///< processor time that both nodes took
  Duration behind{-1};  ///< CopyReply::behind
};

enum class CopyKind : std::uint8_t {
  running,     ///< the owner's writers go on: it cannot be started from
  consistent,  ///< they are held up meanwhile, or have ended
  whole,       ///< they are held up for moments, or the round is broken off: Error(too_large)
  following    ///< the same, quickly: one of many that follow each other
};

/// On nodes. Thread: the loop's.
class NodeExecutor {
 public:
  virtual ~NodeExecutor() = default;
  /// Whether the target could run it, and what can be brought there before: the image. Error(invalid): it cannot, and
  /// trying again will not help.
  virtual awaitable<void> stage(model::Capsule capsule, tables::Row<model::Job> job, std::string target) = 0;
  /// One round from the owner.
  virtual awaitable<Copied> copy(model::Capsule capsule, tables::Row<model::Job> job, std::string target,
                                 CopyKind kind) = 0;
  /// Returns when something in the owner's overlay has been replaced, or written in place and `every` is over (true),
  /// and at the latest after `patience` (false). For as long as `rest` only a service counts that waits for a copy.
  /// `unchanged` is told now and then, of how long ago it was looked at.
  virtual awaitable<bool> watch(model::Capsule capsule, tables::Row<model::Job> job, std::string seen, Duration every,
                                Duration rest, Duration patience, std::function<void(Duration ago)> unchanged) = 0;
  /// What was copied there becomes the overlay.
  virtual awaitable<void> install(model::Capsule capsule, tables::Row<model::Job> job, std::string target) = 0;
  /// Runs the capsule's steps of that moment ("before_stop", "check"). Error(unavailable) when they fail.
  virtual awaitable<void> run_steps(model::Capsule capsule, std::string node, std::string moment) = 0;

  /// Saves the overlay, on its node; once for each move or upgrade, however often it is asked for. Before a move the
  /// capsule runs, and only the newest of those are kept; in an upgrade nothing uses it.
  virtual awaitable<Saved> snapshot(model::Capsule capsule) = 0;

  // Of an upgrade, on its node. `job`: as it stands; the upgrade is the capsule's.

  /// Brings the image there and verifies it, and asks whether it could run there. Error(invalid): it cannot.
  virtual awaitable<Looked> look(model::Capsule capsule, tables::Row<model::Job> job) = 0;
  /// Starts a clone with the image and data of now, apart from everything, and asks it whether it works.
  virtual awaitable<model::Rehearsal> rehearse(model::Capsule capsule, tables::Row<model::Job> job) = 0;
  /// The overlay, which nothing uses, becomes what it was; empty: it stays as it is. In both cases nothing of an
  /// earlier call goes on when this returns, so that the capsule may start. Returns the digest of what ran last.
  virtual awaitable<std::string> restore(model::Capsule capsule, std::string snapshot) = 0;
};

/// Switches hosts off.
class Fence {
 public:
  virtual ~Fence() = default;
  /// True: nothing runs on the node's host now. False: there is nobody to ask about this one. Throws when it could not
  /// be made sure. `host`: "cluster/name", when a provider of ours made it.
  virtual awaitable<bool> fence(std::string node_id, std::string host) = 0;
};

}  // namespace underway::ownership
