#pragma once
/// @file
/// The rows of phases.hpp with what the decisions do in each.

#include "ownership/phases.hpp"
#include "ownership/upgrade.hpp"

namespace underway::ownership::detail {

class Ownership;

struct MovePhaseWork {
  MovePhaseRow row;
  void (Ownership::*look)() = nullptr;  ///< whether it goes on, or cannot, by the tables and the clock alone
  bool (Ownership::*done)(const Outcome&) = nullptr;  ///< the action was; true: with that the phase is over
};

struct UpgradePhaseWork {
  UpgradePhaseRow row;
  void (Ownership::*look)() = nullptr;
  bool (Ownership::*done)(const UpgradeOutcome&) = nullptr;
  std::string model::CapsuleUpgrade::* snapshot = nullptr;  ///< of restore: to which
};

/// Every phase has one row, at its place.
template <class Works>
consteval bool in_order(const Works& works) {
  std::size_t expected = 0;
  for (const auto& work : works) {
    if (static_cast<std::size_t>(work.row.phase) != expected++) return false;
  }
  return true;
}

}  // namespace underway::ownership::detail
