#pragma once
/// @file
/// An upgrade of a capsule that stands still in a phase, so that somebody can die in it.

#include <chrono>

#include "harness/capsule/capsule.hpp"

namespace underway::harness {

/// All phases of upgrades: of one that goes well, of one that goes back, of one that is taken back (install).
inline constexpr const char* kUpgradePhases[] = {"stage", "rehearse", "before_stop", "stop",    "snapshot", "install",
                                                 "start", "check",    "roll_back",   "restore", "restart",  "recheck"};

/// The capsule's own steps and its end wait for a file to go; where only the node's agent acts, it stands still. What
/// the agent does at once is caught while it does it: so the overlay has to be large (Capsule::write_much).
class HeldUpgrade {
 public:
  HeldUpgrade(const Capsule& capsule, std::string phase);
  /// Lets it go on.
  ~HeldUpgrade();
  HeldUpgrade(const HeldUpgrade&) = delete;
  HeldUpgrade& operator=(const HeldUpgrade&) = delete;

  /// Begins it with `arguments` of `capsule upgrade`, and leads it to the phase, where it stays. One that is to go back
  /// is cancelled on the way.
  bool reached(std::vector<std::string> arguments);

 private:
  bool begin(std::vector<std::string> arguments) const;
  bool stands_in(const std::string& phase) const;
  bool caught_in(const std::string& phase);
  bool goes_back() const;
  bool led_forwards();
  bool led_back();
  void hold(const std::string& what);
  void let_go(const std::string& what);
  void stop_agent();

  const Capsule& capsule_;
  std::string phase_, node_;
  std::vector<std::string> held_;
  int agent_ = -1;
};

}  // namespace underway::harness
