#pragma once
/// @file
/// A planned move that stands still in a phase, and a death in it.

#include <chrono>

#include "harness/capsule/capsule.hpp"

namespace underway::harness {

/// All phases of a move that goes well, in their order.
inline constexpr const char* kMovePhases[] = {"stage", "copy", "before_stop", "stop", "transfer", "start", "check"};
/// Who may die in it.
inline constexpr const char* kMoveVictims[] = {"source_agent", "target_agent", "server", "keeper", "source_host"};

/// Holds a move in a phase: the capsule's own steps wait for a file to go; where only nodes act, the target's agent
/// stands still, or finds that somebody is at the overlay. To be made before the move begins; lets it go on when it is
/// destroyed.
class HeldMove {
 public:
  HeldMove(const Capsule& capsule, std::string phase, std::string target);
  ~HeldMove();
  HeldMove(const HeldMove&) = delete;
  HeldMove& operator=(const HeldMove&) = delete;

  /// The move stands there, and stays.
  bool reached(std::chrono::seconds limit = std::chrono::seconds(20));

 private:
  bool by_file() const;
  void stop_agent();
  void hold_overlay();
  void go_on() const;

  const Capsule& capsule_;
  std::string phase_, target_;
  int agent_ = -1;
  int overlay_ = -1;  ///< its lock on the target
};

/// SIGKILL to one of kMoveVictims. What died is brought back by Capsule::up().
void kill_in_move(const Capsule& capsule, const std::string& victim, const std::string& from, const std::string& to);

}  // namespace underway::harness
