#pragma once
/// @file
/// What a move needs done outside of the tables: on nodes, and by those who can switch hosts off. Each may be done
/// twice; errors are thrown.

#include "async/loop.hpp"
#include "move/tend.hpp"

namespace underway::move {

using async::awaitable;

struct Copied {
  model::MoveRound round;
  bool consistent = false;
};

/// On nodes. Thread: the loop's.
class Plane {
 public:
  virtual ~Plane() = default;
  /// Whether the target could run it, and what can be brought there before: the image. Error(invalid): it cannot, and
  /// trying again will not help.
  virtual awaitable<void> stage(model::Capsule capsule, tables::Row<model::Job> job, std::string target) = 0;
  /// One round from the owner. `consistent`: the owner's writers are held up meanwhile, or have ended.
  virtual awaitable<Copied> copy(model::Capsule capsule, tables::Row<model::Job> job, std::string target,
                                 bool consistent) = 0;
  /// What was copied there becomes the overlay.
  virtual awaitable<void> install(model::Capsule capsule, tables::Row<model::Job> job, std::string target) = 0;
  /// Runs the capsule's steps of that moment ("before_stop", "check"). Error(unavailable) when they fail.
  virtual awaitable<void> run_steps(model::Capsule capsule, std::string node, std::string moment) = 0;
};

/// Switches hosts off.
class Fence {
 public:
  virtual ~Fence() = default;
  /// True: nothing runs on the node's host now. False: there is nobody to ask about this one. Throws when it could not
  /// be made sure. `host`: "cluster/name", when a provider of ours made it.
  virtual awaitable<bool> fence(std::string node_id, std::string host) = 0;
};

}  // namespace underway::move
